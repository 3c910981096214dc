import type { BodySink, Exchange, ProxyResponse, ResponseBody } from '../../exchange.ts'
import type { GatewayError } from '../../failures/errors.ts'
import { getFirstFieldValue } from '../../header-fields.ts'
import { freeBuffer } from '../../shared/buffers.ts'
import type { Reservation } from './cache-store.ts'
import { TeeReader } from './tee-reader.ts'

/** Hears what becomes of a recording. */
export interface BodyTeeCallbacks {
  /** The whole body has come: bytes that are its own. `readBy` still read it. */
  onComplete(body: Buffer, readBy: readonly Exchange[]): void
  /** It is longer than may be stored, or there is no room for it: it goes on for those who read it, and for nobody else. */
  onOverflow(): void
  /** The upstream has broken it off. */
  onFailed(error: GatewayError): void
  /** Nobody reads it any more, whether it has ended or not. */
  onReadersGone(): void
}

/** Is a part of a body: `filled` bytes of its memory, from `start` on. */
interface TeeSegment {
  readonly memory: Buffer
  readonly start: number
  filled: number
}

// The most that a reader is given at once: TLS makes a copy of whatever is written, whether the client takes it or not.
const maxChunkBytes = 64 * 1024

// Of a body whose length nobody knows: the pieces double, from a small one.
const firstSegmentBytes = 8 * 1024
const maxSegmentBytes = 1024 * 1024

// Of a body that is not stored, so much may wait for the slowest of those who read it.
const windowBytes = 256 * 1024

/**
 * Records the body of an answer while it comes. Any number of readers read it from its beginning, each at his own pace: what one has not taken
 * yet holds up nobody else, nor the recording. The bytes are copied into memory of its own, so that what counts is what is used, in however
 * small pieces it comes. A body that grows too long becomes a window: what all have read is forgotten, and the slowest sets the pace.
 */
export class BodyTee implements BodySink {
  /** The whole body, when it has come and was not too long. */
  whole: Buffer | null = null
  ended = false
  failure: GatewayError | null = null
  /** How many bytes have come. */
  length = 0
  readonly #body: ResponseBody
  readonly #declared: number | null
  readonly #maxBytes: number
  readonly #reservation: Reservation
  readonly #callbacks: BodyTeeCallbacks
  readonly #readers = new Set<TeeReader>()
  #segments: TeeSegment[] = []
  #isWindow = false
  #paused = false

  /** `declared` is its length as the answer says it, for which there is room; null: it does not say. `maxBytes` is the most that is stored. */
  constructor(
    body: ResponseBody,
    declared: number | null,
    maxBytes: number,
    reservation: Reservation,
    callbacks: BodyTeeCallbacks,
  ) {
    this.#body = body
    this.#declared = declared
    this.#maxBytes = maxBytes
    this.#reservation = reservation
    this.#callbacks = callbacks
  }

  /** Begins. All that read from its beginning are there by then, or {@link openReader} before it becomes a window. */
  start(): void {
    if (this.#declared !== null)
      this.#segments.push({ memory: Buffer.allocUnsafeSlow(this.#declared), start: 0, filled: 0 })
    this.#body.consume(this)
  }

  /** Lets one more read it, to answer an exchange; null: its beginning is no longer there. */
  openReader(exchange: Exchange): TeeReader | null {
    if (this.#isWindow || this.failure !== null) return null
    const reader = new TeeReader(this, exchange)
    this.#readers.add(reader)
    return reader
  }

  /** Whether anybody reads it. */
  get isRead(): boolean {
    return this.#readers.size > 0
  }

  data(chunk: Buffer): boolean {
    this.#append(chunk)
    if (!this.#body.isShared) freeBuffer(chunk)
    for (const reader of this.#readers) reader.onData()
    return this.#trimWindow()
  }

  end(): void {
    this.ended = true
    if (!this.#isWindow) this.whole = this.#concatenate()
    if (this.whole !== null) {
      const readBy = [...this.#readers].map(({ exchange }) => exchange)
      this.#callbacks.onComplete(this.whole, readBy)
    }
    for (const reader of this.#readers) reader.onData()
    if (this.whole !== null) this.#segments = []
  }

  fail(error: GatewayError): void {
    this.failure = error
    this.#segments = []
    this.#callbacks.onFailed(error)
    for (const reader of this.#readers) reader.onFailed(error)
    this.#readers.clear()
  }

  /** Finds what there is from an offset on, as much as is given at once; null: nothing yet. */
  from(offset: number): Buffer | null {
    const until = offset + maxChunkBytes
    if (this.whole !== null) return offset < this.whole.length ? this.whole.subarray(offset, until) : null
    for (let i = this.#segments.length - 1; i >= 0; i--) {
      const { memory, start, filled } = this.#segments[i] as TeeSegment
      if (offset >= start)
        return offset < start + filled ? memory.subarray(offset - start, Math.min(filled, until - start)) : null
    }
    return null
  }

  /** Is told that a reader has read on. */
  onReaderAdvanced(): void {
    if (!this.#isWindow) return
    this.#trimWindow()
    if (!this.#paused || this.ended || this.#backlogBytes() > windowBytes / 2) return
    this.#paused = false
    this.#body.resume()
  }

  /** Is told that a reader reads no more, because he has all of it, or wants no more. */
  onReaderClosed(reader: TeeReader): void {
    if (!this.#readers.delete(reader)) return
    if (this.#readers.size === 0) this.#callbacks.onReadersGone()
    else this.onReaderAdvanced()
  }

  #append(chunk: Buffer): void {
    let from = 0
    while (from < chunk.length) {
      let last = this.#segments.at(-1)
      if (last === undefined || last.filled === last.memory.length) last = this.#addSegment(chunk.length - from)
      const copied = chunk.copy(last.memory, last.filled, from)
      last.filled += copied
      this.length += copied
      from += copied
    }
  }

  #addSegment(minBytes: number): TeeSegment {
    const last = this.#segments.at(-1)
    const wanted = last === undefined ? firstSegmentBytes : Math.min(maxSegmentBytes, last.memory.length * 2)
    let bytes = Math.max(minBytes, wanted)
    if (!this.#isWindow) {
      const room = this.#maxBytes - this.length
      bytes = Math.min(bytes, room)
      // More than was declared is not stored either.
      if (this.#declared !== null || minBytes > room || !this.#reservation.grow(bytes)) this.#becomeWindow()
    }
    if (this.#isWindow) bytes = Math.max(minBytes, firstSegmentBytes)
    const segment = { memory: Buffer.allocUnsafeSlow(bytes), start: this.length, filled: 0 }
    this.#segments.push(segment)
    return segment
  }

  #becomeWindow(): void {
    this.#isWindow = true
    this.#reservation.release()
    this.#callbacks.onOverflow()
  }

  /** Forgets what all have read; false: too much waits for the slowest. */
  #trimWindow(): boolean {
    if (!this.#isWindow) return true
    const backlog = this.#backlogBytes()
    const readByAll = this.length - backlog
    const firstKept = this.#segments.findIndex(({ start, filled }) => start + filled > readByAll)
    this.#segments.splice(0, firstKept === -1 ? this.#segments.length : firstKept)
    if (backlog > windowBytes) this.#paused = true
    return !this.#paused
  }

  /** Tells how many bytes wait for the slowest. */
  #backlogBytes(): number {
    let slowest = this.length
    for (const { offset } of this.#readers) slowest = Math.min(slowest, offset)
    return this.length - slowest
  }

  #concatenate(): Buffer | null {
    if (this.#declared !== null && this.length !== this.#declared) {
      this.#reservation.release()
      this.#callbacks.onOverflow()
      return null
    }
    const [first] = this.#segments
    if (first !== undefined && this.#segments.length === 1 && first.filled === first.memory.length) return first.memory
    const whole = Buffer.allocUnsafeSlow(this.length)
    for (const { memory, start, filled } of this.#segments) memory.copy(whole, start, 0, filled)
    return whole
  }
}

/** Reads how long an answer says that it is; null: it does not say; undefined: it says nothing sensible. */
export const declaredLength = ({ fields }: Pick<ProxyResponse, 'fields'>): number | null | undefined => {
  const value = getFirstFieldValue(fields, 'content-length')
  if (value === undefined) return null
  return /^\d{1,15}$/.test(value) ? Number(value) : undefined
}
