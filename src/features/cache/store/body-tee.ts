import type { BodySink, ResponseBody } from '../../../core/exchange/body.ts'
import type { Exchange } from '../../../core/exchange/exchange.ts'
import type { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { freeBuffer, sliceBytes } from '../../../core/lib/buffers.ts'
import type { Reservation } from './cache-store.ts'

interface BodyTeeOptions {
  readonly body: ResponseBody
  /** Content-Length, which is reserved; null: absent. */
  readonly declared: number | null
  readonly maxBytes: number // to store
  readonly reservation: Reservation
  /** `readers`: still reading the body. */
  onComplete(body: Buffer, readers: readonly TeeReader[]): void
  /** The body is too long to store, or there is no room: only the present readers get the rest. */
  onOverflow(): void
  onFailed(): void
  /** Also when the body has not ended. */
  onReadersGone(): void
}

interface TeeSegment {
  readonly memory: Buffer
  readonly start: number
  filled: number
}

// For a body of unknown length, each segment doubles.
const firstSegmentBytes = 8 * 1024
const maxSegmentBytes = 1024 * 1024

// The most bytes of an unstored body that wait for its slowest reader.
const windowBytes = 256 * 1024

/**
 * Records a body while readers read it from the beginning. Copies bytes, so that small chunks of large buffers are
 * counted right. A body of unexpected length becomes a window: it drops bytes that all readers have read, and the
 * slowest reader sets the pace.
 */
export class BodyTee implements BodySink {
  whole: Buffer | null = null
  ended = false
  failure: GatewayError | null = null
  length = 0
  readonly #options: BodyTeeOptions
  #reservation: Reservation
  readonly #readers = new Set<TeeReader>()
  #segments: TeeSegment[] = []
  #isWindow = false
  #paused = false

  constructor(options: BodyTeeOptions) {
    this.#options = options
    this.#reservation = options.reservation
  }

  /** Readers must open before the body becomes a window. */
  start(): void {
    const { body, declared } = this.#options
    if (declared !== null) this.#segments.push({ memory: Buffer.allocUnsafeSlow(declared), start: 0, filled: 0 })
    body.consume(this)
  }

  /** Null: the beginning of the body is dropped. */
  openReader(exchange: Exchange): TeeReader | null {
    if (this.#isWindow || this.failure !== null) return null
    const reader = new TeeReader(this, exchange)
    this.#readers.add(reader)
    return reader
  }

  get isRead(): boolean {
    return this.#readers.size > 0
  }

  data(chunk: Buffer): boolean {
    this.#append(chunk)
    if (!this.#options.body.isShared) freeBuffer(chunk)
    for (const reader of this.#readers) reader.onData()
    return this.#trimWindow()
  }

  end(): void {
    this.ended = true
    const { declared, onComplete } = this.#options
    // A body shorter than declared is not stored.
    if (!this.#isWindow && declared !== null && this.length !== declared) this.#becomeWindow()
    if (!this.#isWindow) {
      this.whole = this.#concatenate()
      onComplete(this.whole, [...this.#readers])
    }
    for (const reader of this.#readers) reader.onData()
    if (this.whole !== null) this.#segments = []
    this.#trimWindow()
  }

  fail(error: GatewayError): void {
    this.failure = error
    this.#segments = []
    this.#reservation.release()
    this.#options.onFailed()
    for (const reader of this.#readers) reader.onFailed(error)
    this.#readers.clear()
  }

  /** At most one chunk; null: none yet. */
  from(offset: number): Buffer | null {
    const until = offset + sliceBytes
    if (this.whole !== null) return offset < this.whole.length ? this.whole.subarray(offset, until) : null
    for (let i = this.#segments.length - 1; i >= 0; i--) {
      const { memory, start, filled } = this.#segments[i] as TeeSegment
      if (offset >= start)
        return offset < start + filled ? memory.subarray(offset - start, Math.min(filled, until - start)) : null
    }
    return null
  }

  onReaderAdvanced(): void {
    if (!this.#isWindow) return
    this.#trimWindow()
    if (!this.#paused || this.ended || this.#backlogBytes() > windowBytes / 2) return
    this.#paused = false
    this.#options.body.resume()
  }

  onReaderClosed(reader: TeeReader): void {
    if (!this.#readers.delete(reader)) return
    if (this.#readers.size > 0) return this.onReaderAdvanced()
    this.#trimWindow()
    this.#options.onReadersGone()
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
      const { declared, maxBytes } = this.#options
      const room = maxBytes - this.length
      bytes = Math.min(bytes, room)
      // A body longer than declared is not stored either.
      if (declared !== null || minBytes > room || !this.#reservation.grow(bytes)) this.#becomeWindow()
    }
    if (this.#isWindow) bytes = Math.max(minBytes, firstSegmentBytes)
    const segment = { memory: Buffer.allocUnsafeSlow(bytes), start: this.length, filled: 0 }
    this.#segments.push(segment)
    return segment
  }

  #becomeWindow(): void {
    this.#isWindow = true
    this.#reservation = this.#reservation.split()
    this.#options.onOverflow()
  }

  /** False: too many bytes wait for the slowest reader. */
  #trimWindow(): boolean {
    if (!this.#isWindow) return true
    const backlog = this.#backlogBytes()
    const readByAll = this.length - backlog
    const firstKept = this.#segments.findIndex(({ start, filled }) => start + filled > readByAll)
    this.#segments.splice(0, firstKept === -1 ? this.#segments.length : firstKept)
    this.#reservation.shrinkTo(this.#segments.reduce((sum, { memory }) => sum + memory.length, 0))
    if (backlog > windowBytes) this.#paused = true
    return !this.#paused
  }

  #backlogBytes(): number {
    let slowest = this.length
    for (const { offset } of this.#readers) slowest = Math.min(slowest, offset)
    return this.length - slowest
  }

  #concatenate(): Buffer {
    const [first] = this.#segments
    if (first !== undefined && this.#segments.length === 1 && first.filled === first.memory.length) return first.memory
    const whole = Buffer.allocUnsafeSlow(this.length)
    for (const { memory, start, filled } of this.#segments) memory.copy(whole, start, 0, filled)
    return whole
  }
}

class TeeReader implements ResponseBody {
  readonly isShared = true
  offset = 0
  readonly exchange: Exchange
  readonly #source: BodyTee
  #sink: BodySink | null = null
  #flowing = false
  #isClosed = false

  constructor(source: BodyTee, exchange: Exchange) {
    this.exchange = exchange
    this.#source = source
  }

  takeBuffered(): Buffer | null {
    const { whole } = this.#source
    if (whole !== null) this.discard()
    return whole
  }

  consume(sink: BodySink): void {
    this.#sink = sink
    const { failure } = this.#source
    if (failure !== null) return this.onFailed(failure)
    this.resume()
  }

  resume(): void {
    this.#flowing = true
    this.onData()
  }

  onData(): void {
    const [source, sink] = [this.#source, this.#sink]
    if (sink === null || this.#isClosed) return
    const before = this.offset
    while (this.#flowing) {
      const chunk = source.from(this.offset)
      if (chunk === null) break
      this.offset += chunk.length
      this.#flowing = sink.data(chunk)
    }
    if (source.ended && this.offset === source.length) {
      this.discard()
      return sink.end()
    }
    if (this.offset > before) source.onReaderAdvanced()
  }

  onFailed(error: GatewayError): void {
    if (this.#isClosed || this.#sink === null) return
    this.#isClosed = true
    this.#sink.fail(error)
  }

  discard(): void {
    this.#isClosed = true
    this.#source.onReaderClosed(this)
  }
}
