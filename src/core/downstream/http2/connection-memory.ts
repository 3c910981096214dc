import { largeBufferBytes } from '../../lib/buffers.ts'
import { frameHeadBytes, maxFrameBytes } from './frame.ts'
import { connectionWindowBytes, narrowWindowBytes } from './wide-connections.ts'

/** The default of SETTINGS_HEADER_TABLE_SIZE (RFC 9113 §6.5.2), in both directions. */
export const maxTableSize = 4096
// An entry of HPACK takes about a hundred bytes beyond its text, and counts 32.
const tableFactor = 4

/** Twice the maximum of open streams. */
export const rememberedStreams = 256

/** A client that reads leaves a few dozen bytes of replies waiting. Beyond it nothing more is read. */
export const maxControlBytes = 16 * 1024
// One read may add some, and their memory grows by doubling.
const controlFactor = 3

/**
 * Body bytes in one write: then other connections have their turn. Heads have the same limit, which the last may pass.
 */
export const maxWriteBytes = 128 * 1024
/** Writes that the system has not taken. */
export const maxWrites = 8
/** Ended streams in untaken writes: beyond it nothing more is written. */
export const maxUntakenEnds = 100
/** Small writes are rendered into a block; each keeps the whole block. */
export const blockBytes = 64 * 1024

/** Body bytes of a stream that may wait without shrinking the connection's window. */
export const streamAllowanceBytes = 2 * narrowWindowBytes
// A block of 64 KiB may hold few bytes of each stream.
const pieceFactor = 2

const maxHeadBytes = 64 * 1024
/** The final head, and the interim ones of one read. */
const maxWaitingHeads = 2

/** Beyond these pieces, the upstream waits. */
export const maxWaitingPieces = 4
// Three small pieces, each with 64 KiB of Node's pool, and a large read.
const maxPiecesBytes = 2 * largeBufferBytes

// HTTP/2 counts 32 bytes for a field beside its text, but the two strings of a field take about 64 in memory.
const listFactor = 2
const streamObjectBytes = 8 * 1024

/** The most that a connection holds, by part, in bytes, whatever the client does. */
export const boundMemory = (options: { readonly maxConcurrentStreams: number; readonly maxListSize: number }) => {
  const { maxConcurrentStreams, maxListSize } = options
  const requestBytes = listFactor * maxListSize + streamObjectBytes
  const bounds = {
    objects: 64 * 1024,
    frame: frameHeadBytes + maxFrameBytes,
    /** An encoder that does not compress adds a few bytes a field. */
    fieldBlock: 1.25 * maxListSize,
    tables: 2 * tableFactor * maxTableSize,
    closedStreams: rememberedStreams * 5,
    controls: controlFactor * maxControlBytes,
    /** HPACK can make long heads much shorter than their reserved memory. */
    writes: maxWrites * (maxControlBytes + 2 * maxWriteBytes + maxHeadBytes),
    requestHeads: maxConcurrentStreams * requestBytes,
    /** Requests whose responses wait in writes: one write may have the ends of all streams. */
    respondedHeads: (maxUntakenEnds + maxConcurrentStreams) * requestBytes,
    requestBodies: pieceFactor * (maxConcurrentStreams * streamAllowanceBytes + connectionWindowBytes),
    responseHeads: maxConcurrentStreams * maxWaitingHeads * maxHeadBytes,
    responseBodies: maxConcurrentStreams * maxPiecesBytes,
  }
  return { ...bounds, total: Object.values(bounds).reduce((sum, bytes) => sum + bytes, 0) }
}
