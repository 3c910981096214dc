import { fieldNameEquals } from '../header-fields.ts'
import { describeByte, type HeadScanner, isTextByte, isTokenByte, type RejectMessage } from './head-scanner.ts'

// Chunk extensions are skipped, not kept.
const maxLineBytes = 16 * 1024

// Up to this size, moving a chunk costs less than handing it on alone.
const maxCoalescedBytes = 4 * 1024

const [lf, cr, quote, semicolon, equals, backslash] = [0x0a, 0x0d, 0x22, 0x3b, 0x3d, 0x5c]

// States: where the next byte belongs.
const atSize = 0
const inSize = 1
const atName = 2
const inName = 3
const atValue = 4
const inValue = 5
const inQuotes = 6
const afterBackslash = 7
const afterQuotes = 8
const atLineFeed = 9
const inChunk = 10
const afterChunk = 11
const atNextLineFeed = 12
const inTrailers = 13
const finished = 14
const stopped = 15

export interface BodyEvents {
  /** A piece of the body: bytes[from, to), valid during the call. */
  body(bytes: Buffer, from: number, to: number): void
}

/** RFC 9112 §7.1, one body after another. Extensions (§7.1.1) and trailers (§7.1.2) are checked and dropped. */
export class ChunkedBodyParser {
  readonly #events: BodyEvents
  readonly #scanner: HeadScanner
  readonly #reject: RejectMessage
  #state = atSize
  #lineLength = 0
  #remaining = 0
  /** The next piece to hand on, within this read. */
  #pieceFrom = 0
  #pieceTo = 0

  constructor(events: BodyEvents, scanner: HeadScanner, reject: RejectMessage) {
    this.#events = events
    this.#scanner = scanner
    this.#reject = reject
  }

  /** Returns the index after the body; -1: more must come. */
  read(bytes: Buffer, from: number, to: number): number {
    let at = from
    try {
      while (at < to && this.#state < finished) at = this.#step(bytes, at, to)
    } finally {
      this.#emit(bytes)
    }
    if (this.#state !== finished) return -1
    this.#state = atSize
    return at
  }

  stop(): void {
    this.#state = stopped
  }

  #step(bytes: Buffer, at: number, to: number): number {
    if (this.#state === inChunk) {
      const next = Math.min(at + this.#remaining, to)
      this.#remaining -= next - at
      if (this.#remaining === 0) this.#state = afterChunk
      this.#coalesce(bytes, at, next)
      return next
    }
    if (this.#state === inTrailers) {
      const next = this.#scanner.read(bytes, at, to)
      if (next === -1) return to
      this.#checkTrailers()
      this.#state = finished
      return next
    }
    this.#state = this.#nextState(bytes[at] as number)
    return at + 1
  }

  #nextState(byte: number): number {
    if (++this.#lineLength > maxLineBytes) throw this.#reject('chunk', `a chunk: more than ${maxLineBytes} bytes`)
    switch (this.#state) {
      case atSize:
        this.#remaining = 0
        return this.#addDigit(byte)
      case inSize:
        return byte === cr ? atLineFeed : byte === semicolon ? atName : this.#addDigit(byte)
      // Blanks around ";" and "=" (§7.1.1) are rejected: parsers disagree about them.
      case atName:
      case atValue:
        if (this.#state === atValue && byte === quote) return inQuotes
        if (isTokenByte(byte)) return this.#state + 1
        throw this.#malformed('extension', byte)
      case inName:
      case inValue:
      case afterQuotes:
        if (byte === cr) return atLineFeed
        if (byte === semicolon) return atName
        if (byte === equals && this.#state === inName) return atValue
        if (isTokenByte(byte) && this.#state !== afterQuotes) return this.#state
        throw this.#malformed(this.#state === afterQuotes ? 'quoted value' : 'extension', byte)
      case inQuotes:
      case afterBackslash:
        // RFC 9110 §5.6.4: control characters cannot be quoted either.
        if (!isTextByte(byte)) throw this.#malformed('quoted value', byte)
        if (this.#state === afterBackslash) return inQuotes
        return byte === quote ? afterQuotes : byte === backslash ? afterBackslash : inQuotes
      case afterChunk:
        if (byte !== cr) throw this.#malformed('line end', byte)
        return atNextLineFeed
      default: // a line feed
        if (byte !== lf) throw this.#malformed('line end', byte)
        this.#lineLength = 0
        if (this.#state === atNextLineFeed) return atSize
        if (this.#remaining > 0) return inChunk
        this.#scanner.awaitTrailers()
        return inTrailers
    }
  }

  // §7.1: digits alone (no sign, blank or 0x), and an exact integer.
  #addDigit(byte: number): number {
    const value = byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57
    if (value < 0 || value > 15 || (byte > 0x39 && value < 10)) throw this.#malformed('size', byte)
    this.#remaining = 16 * this.#remaining + value
    if (!Number.isSafeInteger(this.#remaining)) throw this.#reject('chunk', 'a chunk: the size is too large')
    return inSize
  }

  // RFC 9110 §6.5.1: no framing fields among the trailers.
  #checkTrailers(): void {
    const scanner = this.#scanner
    for (let i = 0; i < scanner.fieldCount; i++) {
      const name = scanner.name(i)
      if (fieldNameEquals(name, 'content-length') || fieldNameEquals(name, 'transfer-encoding'))
        throw this.#reject('trailer', 'a framing field among the trailers')
    }
    scanner.awaitHead()
  }

  /** A body in chunks of 1 byte is not handed on byte by byte. */
  #coalesce(bytes: Buffer, from: number, to: number): void {
    if (this.#pieceFrom < this.#pieceTo && to - from <= maxCoalescedBytes) {
      bytes.copyWithin(this.#pieceTo, from, to)
      this.#pieceTo += to - from
      return
    }
    this.#emit(bytes)
    this.#pieceFrom = from
    this.#pieceTo = to
  }

  #emit(bytes: Buffer): void {
    const from = this.#pieceFrom
    this.#pieceFrom = this.#pieceTo
    if (from < this.#pieceTo && this.#state !== stopped) this.#events.body(bytes, from, this.#pieceTo)
  }

  #malformed(part: string, byte: number): Error {
    return this.#reject('chunk', `a chunk: ${describeByte(byte)} in its ${part}`)
  }
}
