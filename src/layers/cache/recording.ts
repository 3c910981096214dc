import type { Answer, AnswerBody, BodySink, Exchange } from '../../exchange.ts'
import type { GatewayError } from '../../failures/errors.ts'
import { firstValue } from '../../fields.ts'
import { giveBack } from '../../shared/give-back.ts'
import { Reader } from './reader.ts'
import type { Reservation } from './store.ts'

/** Hears what becomes of a recording. */
export interface RecordingEnd {
  /** The whole body has come: bytes that are its own. `readBy` still read it. */
  complete(body: Buffer, readBy: readonly Exchange[]): void
  /** It is longer than may be stored, or there is no room for it: it goes on for those who read it, and for nobody else. */
  lost(): void
  /** The upstream has broken it off. */
  failed(error: GatewayError): void
  /** Nobody reads it any more, whether it has ended or not. */
  deserted(): void
}

/** Is a part of a body: `filled` bytes of its memory, from `start` on. */
interface Piece {
  readonly memory: Buffer
  readonly start: number
  filled: number
}

// The most that a reader is given at once: TLS makes a copy of whatever is written, whether the client takes it or not.
const givenBytes = 64 * 1024

// Of a body whose length nobody knows: the pieces double, from a small one.
const firstPieceBytes = 8 * 1024
const mostPieceBytes = 1024 * 1024

// Of a body that is not stored, so much may wait for the slowest of those who read it.
const windowBytes = 256 * 1024

/**
 * Records the body of an answer while it comes. Any number of readers read it from its beginning, each at his own pace: what one has not taken
 * yet holds up nobody else, nor the recording. The bytes are copied into memory of its own, so that what counts is what is used, in however
 * small pieces it comes. A body that grows too long becomes a window: what all have read is forgotten, and the slowest sets the pace.
 */
export class Recording implements BodySink {
  /** The whole body, when it has come and was not too long. */
  whole: Buffer | null = null
  ended = false
  failure: GatewayError | null = null
  /** How many bytes have come. */
  length = 0
  readonly #body: AnswerBody
  readonly #declared: number | null
  readonly #maxBytes: number
  readonly #reservation: Reservation
  readonly #end: RecordingEnd
  readonly #readers = new Set<Reader>()
  #pieces: Piece[] = []
  #isWindow = false
  #paused = false

  /** `declared` is its length as the answer says it, for which there is room; null: it does not say. `maxBytes` is the most that is stored. */
  constructor(
    body: AnswerBody,
    declared: number | null,
    maxBytes: number,
    reservation: Reservation,
    end: RecordingEnd,
  ) {
    this.#body = body
    this.#declared = declared
    this.#maxBytes = maxBytes
    this.#reservation = reservation
    this.#end = end
  }

  /** Begins. All that read from its beginning are there by then, or {@link read} before it becomes a window. */
  start(): void {
    if (this.#declared !== null)
      this.#pieces.push({ memory: Buffer.allocUnsafeSlow(this.#declared), start: 0, filled: 0 })
    this.#body.consume(this)
  }

  /** Lets one more read it, to answer an exchange; null: its beginning is no longer there. */
  read(exchange: Exchange): Reader | null {
    if (this.#isWindow || this.failure !== null) return null
    const reader = new Reader(this, exchange)
    this.#readers.add(reader)
    return reader
  }

  /** Whether anybody reads it. */
  get isRead(): boolean {
    return this.#readers.size > 0
  }

  data(chunk: Buffer): boolean {
    this.#record(chunk)
    if (!this.#body.lasting) giveBack(chunk)
    for (const reader of this.#readers) reader.more()
    return this.#keepsUp()
  }

  end(): void {
    this.ended = true
    if (!this.#isWindow) this.whole = this.#join()
    if (this.whole !== null) {
      const readBy = [...this.#readers].map(({ exchange }) => exchange)
      this.#end.complete(this.whole, readBy)
    }
    for (const reader of this.#readers) reader.more()
    if (this.whole !== null) this.#pieces = []
  }

  fail(error: GatewayError): void {
    this.failure = error
    this.#pieces = []
    this.#end.failed(error)
    for (const reader of this.#readers) reader.failed(error)
    this.#readers.clear()
  }

  /** Finds what there is from an offset on, as much as is given at once; null: nothing yet. */
  from(offset: number): Buffer | null {
    const until = offset + givenBytes
    if (this.whole !== null) return offset < this.whole.length ? this.whole.subarray(offset, until) : null
    for (let i = this.#pieces.length - 1; i >= 0; i--) {
      const { memory, start, filled } = this.#pieces[i] as Piece
      if (offset >= start)
        return offset < start + filled ? memory.subarray(offset - start, Math.min(filled, until - start)) : null
    }
    return null
  }

  /** Is told that a reader has read on. */
  moved(): void {
    if (!this.#isWindow) return
    this.#keepsUp()
    if (!this.#paused || this.ended || this.#waiting() > windowBytes / 2) return
    this.#paused = false
    this.#body.resume()
  }

  /** Is told that a reader reads no more, because he has all of it, or wants no more. */
  left(reader: Reader): void {
    if (!this.#readers.delete(reader)) return
    if (this.#readers.size === 0) this.#end.deserted()
    else this.moved()
  }

  #record(chunk: Buffer): void {
    let from = 0
    while (from < chunk.length) {
      let last = this.#pieces.at(-1)
      if (last === undefined || last.filled === last.memory.length) last = this.#addPiece(chunk.length - from)
      const copied = chunk.copy(last.memory, last.filled, from)
      last.filled += copied
      this.length += copied
      from += copied
    }
  }

  #addPiece(least: number): Piece {
    const last = this.#pieces.at(-1)
    const wanted = last === undefined ? firstPieceBytes : Math.min(mostPieceBytes, last.memory.length * 2)
    let bytes = Math.max(least, wanted)
    if (!this.#isWindow) {
      const left = this.#maxBytes - this.length
      bytes = Math.min(bytes, left)
      // More than was declared is not stored either.
      if (this.#declared !== null || least > left || !this.#reservation.grow(bytes)) this.#slide()
    }
    if (this.#isWindow) bytes = Math.max(least, firstPieceBytes)
    const piece = { memory: Buffer.allocUnsafeSlow(bytes), start: this.length, filled: 0 }
    this.#pieces.push(piece)
    return piece
  }

  #slide(): void {
    this.#isWindow = true
    this.#reservation.release()
    this.#end.lost()
  }

  /** Forgets what all have read; false: too much waits for the slowest. */
  #keepsUp(): boolean {
    if (!this.#isWindow) return true
    const waiting = this.#waiting()
    const read = this.length - waiting
    const kept = this.#pieces.findIndex(({ start, filled }) => start + filled > read)
    this.#pieces.splice(0, kept === -1 ? this.#pieces.length : kept)
    if (waiting > windowBytes) this.#paused = true
    return !this.#paused
  }

  /** Tells how many bytes wait for the slowest. */
  #waiting(): number {
    let slowest = this.length
    for (const { offset } of this.#readers) slowest = Math.min(slowest, offset)
    return this.length - slowest
  }

  #join(): Buffer | null {
    if (this.#declared !== null && this.length !== this.#declared) {
      this.#reservation.release()
      this.#end.lost()
      return null
    }
    const [first] = this.#pieces
    if (first !== undefined && this.#pieces.length === 1 && first.filled === first.memory.length) return first.memory
    const whole = Buffer.allocUnsafeSlow(this.length)
    for (const { memory, start, filled } of this.#pieces) memory.copy(whole, start, 0, filled)
    return whole
  }
}

/** Reads how long an answer says that it is; null: it does not say; undefined: it says nothing sensible. */
export const declaredLength = ({ fields }: Pick<Answer, 'fields'>): number | null | undefined => {
  const value = firstValue(fields, 'content-length')
  if (value === undefined) return null
  return /^\d{1,15}$/.test(value) ? Number(value) : undefined
}
