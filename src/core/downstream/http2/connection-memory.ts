import { largeBufferBytes } from '../../lib/buffers.ts'
import { frameHeadBytes, maxFrameBytes } from './frame.ts'
import { connectionWindowBytes, narrowWindowBytes } from './wide-connections.ts'

/** SETTINGS_HEADER_TABLE_SIZE as it is without a setting (RFC 9113 §6.5.2), of both directions. */
export const maxTableSize = 4096
// An entry counts 32 bytes beyond its text, and takes about a hundred.
const tableFactor = 4

/** Of closed streams: twice as many as may be open at a time. */
export const rememberedStreams = 256

/** Replies that wait: a client that reads has a few dozen bytes of them. Beyond it nothing more is read. */
export const maxControlBytes = 16 * 1024
// One read may add some, and their memory grows by doubling.
const controlFactor = 3

/** Of bodies in one write: then others have their turn. Heads have the same limit, which the last may pass. */
export const maxWriteBytes = 128 * 1024
/** What the system has not taken. */
export const maxWrites = 8
/** Maximum of ended streams in writes that the system has not taken: then no more are written. */
export const maxUntakenEnds = 100
/** New memory to render small writes into, which each of them keeps whole. */
export const blockBytes = 64 * 1024

/** Of each stream, what of its body may wait without taking from the others. */
export const streamAllowanceBytes = 2 * narrowWindowBytes
// A block of 64 KiB may hold little, of each stream.
const pieceFactor = 2

/** Of the upstream's response. */
const maxHeadBytes = 64 * 1024
/** The last, and one read of interim ones: while the client takes nothing, no more are queued. */
const maxWaitingHeads = 2

/** Beyond these, the upstream waits. */
export const maxWaitingPieces = 4
// Three small ones, which each keep 64 KiB of Node's pool, and a large read.
const maxPiecesBytes = 2 * largeBufferBytes

// A list counts 32 bytes a field, whose two texts take about 64.
const listFactor = 2
const streamObjectBytes = 8 * 1024

/** What a connection holds at most, by part, in bytes: nothing that a client does makes it more. */
export const boundMemory = (options: { readonly maxConcurrentStreams: number; readonly maxListSize: number }) => {
  const { maxConcurrentStreams, maxListSize } = options
  const requestBytes = listFactor * maxListSize + streamObjectBytes
  const bounds = {
    objects: 64 * 1024,
    /** Of a frame, the beginning. */
    frame: frameHeadBytes + maxFrameBytes,
    /** Of HEADERS and CONTINUATION. An encoder that does not compress takes a few bytes more a field. */
    fieldBlock: 1.25 * maxListSize,
    tables: 2 * tableFactor * maxTableSize,
    closedStreams: rememberedStreams * 5,
    controls: controlFactor * maxControlBytes,
    /** Of each, what was reserved: a table of HPACK can make little of long heads. */
    writes: maxWrites * (maxControlBytes + 2 * maxWriteBytes + maxHeadBytes),
    requestHeads: maxConcurrentStreams * requestBytes,
    /** Of requests whose responses the system has not taken: one write may have the ends of all streams. */
    answeredHeads: (maxUntakenEnds + maxConcurrentStreams) * requestBytes,
    requestBodies: pieceFactor * (maxConcurrentStreams * streamAllowanceBytes + connectionWindowBytes),
    responseHeads: maxConcurrentStreams * maxWaitingHeads * maxHeadBytes,
    responseBodies: maxConcurrentStreams * maxPiecesBytes,
  }
  return { ...bounds, total: Object.values(bounds).reduce((sum, bytes) => sum + bytes, 0) }
}
