import { noBytes } from '../../lib/buffers.ts'
import { flags, frameHeadBytes, frameTypes, maxFrameBytes, readUint31 } from './frame.ts'
import { ConnectionError, errorCodes, protocolError } from './http2-error.ts'

/** Each may throw {@link ConnectionError}. */
export interface FrameSink {
  /** Any frame but DATA. The payload is bytes [from, to), valid during the call. */
  onFrame(type: number, frameFlags: number, streamId: number, payload: Buffer, from: number, to: number): void
  /** `length`: of the payload, `padding` included. The data follow in any number of pieces. */
  onDataHead(streamId: number, length: number, padding: number, isLast: boolean): void
  /** Valid during the call. */
  onData(piece: Buffer): void
  onDataEnd(): void
}

/** RFC 9113 §3.4. */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/**
 * RFC 9113 §4. DATA is handed on as it comes; any other frame is held until it is whole. Each byte is copied once at
 * most, even if it comes alone.
 */
export class FrameReader {
  readonly #sink: FrameSink
  #prefaceRead = 0
  #isFirst = true
  /** The stream whose field block continues; 0: none (RFC 9113 §4.3). */
  #continuedId = 0
  // The frame of DATA that is being read.
  #dataLeft = 0
  #paddingLeft = 0
  #held: Buffer = noBytes
  #heldLength = 0

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  get heldBytes(): number {
    return this.#heldLength
  }

  /** Throws {@link ConnectionError}; do not read after it. */
  read(chunk: Buffer): void {
    let at = this.#readPreface(chunk)
    while (at < chunk.length) {
      if (this.#dataLeft > 0 || this.#paddingLeft > 0) at = this.#readData(chunk, at)
      else if (this.#heldLength > 0) at = this.#readHeld(chunk, at)
      else at = this.#readFrame(chunk, at)
    }
  }

  #readPreface(chunk: Buffer): number {
    let at = 0
    while (this.#prefaceRead < preface.length && at < chunk.length)
      if (chunk[at++] !== preface[this.#prefaceRead++]) throw protocolError('no preface of HTTP/2')
    return at
  }

  #readFrame(chunk: Buffer, at: number): number {
    const needed = bytesNeeded(chunk, at, chunk.length)
    const end = Math.min(chunk.length, at + needed)
    if (end < at + needed) this.#hold(chunk, at, end, needed)
    else this.#take(chunk, at)
    return end
  }

  /** Adds to the held frame: first its head, which has the length. */
  #readHeld(chunk: Buffer, at: number): number {
    const needed = bytesNeeded(this.#held, 0, this.#heldLength)
    const end = Math.min(chunk.length, at + needed - this.#heldLength)
    this.#hold(chunk, at, end, needed)
    if (this.#heldLength < bytesNeeded(this.#held, 0, this.#heldLength)) return end
    const whole = this.#held
    // Most frames come whole, and idle connections are many.
    this.#held = noBytes
    this.#heldLength = 0
    this.#take(whole, 0)
    return end
  }

  #hold(chunk: Buffer, from: number, to: number, needed: number): void {
    if (this.#held.length < needed) {
      // A small copy in Node's pool would keep 64 KiB.
      const larger = Buffer.allocUnsafeSlow(needed)
      this.#held.copy(larger, 0, 0, this.#heldLength)
      this.#held = larger
    }
    chunk.copy(this.#held, this.#heldLength, from, to)
    this.#heldLength += to - from
  }

  #take(bytes: Buffer, at: number): void {
    const length = readLength(bytes, at)
    const type = bytes[at + 3] as number
    const frameFlags = bytes[at + 4] as number
    const streamId = readUint31(bytes, at + 5)
    this.#checkOrder(type, frameFlags, streamId)
    const from = at + frameHeadBytes
    if (type !== frameTypes.data) return this.#sink.onFrame(type, frameFlags, streamId, bytes, from, from + length)

    if (streamId === 0) throw protocolError('DATA on stream 0')
    const isPadded = (frameFlags & flags.padded) !== 0
    const padding = isPadded ? 1 + (length > 0 ? (bytes[from] as number) : 0) : 0
    if (padding > length) throw protocolError('padding longer than its frame')
    this.#sink.onDataHead(streamId, length, padding, (frameFlags & flags.endStream) !== 0)
    this.#dataLeft = length - padding
    this.#paddingLeft = isPadded ? padding - 1 : 0
    if (this.#dataLeft === 0 && this.#paddingLeft === 0) this.#sink.onDataEnd()
  }

  #checkOrder(type: number, frameFlags: number, streamId: number): void {
    if (this.#isFirst && (type !== frameTypes.settings || (frameFlags & flags.ack) !== 0))
      throw protocolError('no SETTINGS behind the preface')
    this.#isFirst = false
    const isContinued = this.#continuedId !== 0
    if (isContinued !== (type === frameTypes.continuation) || (isContinued && streamId !== this.#continuedId))
      throw protocolError(isContinued ? 'another frame within a field block' : 'CONTINUATION of no field block')
    if (type === frameTypes.headers || type === frameTypes.continuation)
      this.#continuedId = (frameFlags & flags.endHeaders) === 0 ? streamId : 0
  }

  #readData(chunk: Buffer, from: number): number {
    const end = Math.min(chunk.length, from + this.#dataLeft)
    if (end > from) {
      this.#dataLeft -= end - from
      this.#sink.onData(from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end))
    }
    const padding = Math.min(chunk.length - end, this.#dataLeft === 0 ? this.#paddingLeft : 0)
    this.#paddingLeft -= padding
    if (this.#dataLeft === 0 && this.#paddingLeft === 0) this.#sink.onDataEnd()
    return end + padding
  }
}

const readLength = (bytes: Buffer, at: number): number => (bytes.readUInt16BE(at) << 8) | (bytes[at + 2] as number)

/** The length of the frame; of DATA only the head and the length of the padding. */
const bytesNeeded = (bytes: Buffer, at: number, end: number): number => {
  if (end - at < frameHeadBytes) return frameHeadBytes
  const length = readLength(bytes, at)
  if (length > maxFrameBytes) throw new ConnectionError(errorCodes.frameSizeError, 'a frame that is too large')
  if (bytes[at + 3] !== frameTypes.data) return frameHeadBytes + length
  const isPadded = ((bytes[at + 4] as number) & flags.padded) !== 0
  return frameHeadBytes + (isPadded && length > 0 ? 1 : 0)
}
