import { isNamed } from '../fields.ts'
import { type HeadScanner, isText, isToken } from './head-scanner.ts'
import { MalformedResponse } from './why.ts'

// As many as Node's server takes of a request. They are read past, not kept.
const maxLineBytes = 16 * 1024

// Up to this much it costs less to move a chunk than to hand it on by itself.
const smallBytes = 4 * 1024

const [lf, cr, quote, semicolon, equals, backslash] = [0x0a, 0x0d, 0x22, 0x3b, 0x3d, 0x5c]

// What the next byte belongs to.
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
const over = 14
const stopped = 15

/** What is heard of a body. */
export interface BodyEvents {
  /** A piece of the body: bytes[from, to), of what was given to read(). It is good until the call returns. */
  body(bytes: Buffer, from: number, to: number): void
}

/**
 * Reads bodies in chunks (RFC 9112 §7.1), one after another. Extensions (§7.1.1) and trailers (§7.1.2) are checked and
 * left out. It goes on where it has stopped.
 */
export class ChunkedBody {
  readonly #events: BodyEvents
  /** Reads trailers; else it is not in use while a body comes. */
  readonly #scanner: HeadScanner
  #state = atSize
  #lineLength = 0
  /** The size of the chunk, less what has come of it. */
  #left = 0
  /** What is handed on next: the bytes of this read from here to there. */
  #pieceFrom = 0
  #pieceTo = 0

  constructor(events: BodyEvents, scanner: HeadScanner) {
    this.#events = events
    this.#scanner = scanner
  }

  /** Reads on, in bytes[from, to). Returns where what follows the body begins; -1: more must come. */
  read(bytes: Buffer, from: number, to: number): number {
    let at = from
    try {
      while (at < to && this.#state < over) at = this.#step(bytes, at, to)
    } finally {
      this.#handOn(bytes)
    }
    if (this.#state !== over) return -1
    this.#state = atSize
    return at
  }

  /** Has nothing more looked at. */
  stop(): void {
    this.#state = stopped
  }

  #step(bytes: Buffer, at: number, to: number): number {
    if (this.#state === inChunk) {
      const next = Math.min(at + this.#left, to)
      this.#left -= next - at
      if (this.#left === 0) this.#state = afterChunk
      this.#gather(bytes, at, next)
      return next
    }
    if (this.#state === inTrailers) {
      const next = this.#scanner.read(bytes, at, to)
      if (next === -1) return to
      this.#checkTrailers(this.#scanner)
      this.#state = over
      return next
    }
    this.#state = this.#next(bytes[at] as number)
    return at + 1
  }

  #next(byte: number): number {
    if (++this.#lineLength > maxLineBytes) throw refused(`more than ${maxLineBytes} bytes`)
    switch (this.#state) {
      case atSize:
        this.#left = 0
        return this.#digit(byte)
      case inSize:
        return byte === cr ? atLineFeed : byte === semicolon ? atName : this.#digit(byte)
      // Blanks around ";" and "=" are bad (§7.1.1), and read by some parsers and not by others: refused.
      case atName:
      case atValue:
        if (this.#state === atValue && byte === quote) return inQuotes
        if (isToken(byte)) return this.#state + 1
        throw malformed('extension', byte)
      case inName:
      case inValue:
      case afterQuotes:
        if (byte === cr) return atLineFeed
        if (byte === semicolon) return atName
        if (byte === equals && this.#state === inName) return atValue
        if (isToken(byte) && this.#state !== afterQuotes) return this.#state
        throw malformed(this.#state === afterQuotes ? 'quoted value' : 'extension', byte)
      case inQuotes:
      case afterBackslash:
        // RFC 9110 §5.6.4: control characters are not quoted either.
        if (!isText(byte)) throw malformed('quoted value', byte)
        if (this.#state === afterBackslash) return inQuotes
        return byte === quote ? afterQuotes : byte === backslash ? afterBackslash : inQuotes
      case afterChunk:
        if (byte !== cr) throw malformed('line end', byte)
        return atNextLineFeed
      default: // a line feed
        if (byte !== lf) throw malformed('line end', byte)
        this.#lineLength = 0
        if (this.#state === atNextLineFeed) return atSize
        if (this.#left > 0) return inChunk
        this.#scanner.awaitTrailers()
        return inTrailers
    }
  }

  // Digits alone: no sign, no blank, no 0x. More than can be counted exactly is refused (§7.1).
  #digit(byte: number): number {
    const value = byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57
    if (value < 0 || value > 15 || (byte > 0x39 && value < 10)) throw malformed('size', byte)
    this.#left = 16 * this.#left + value
    if (!Number.isSafeInteger(this.#left)) throw refused('a size beyond counting')
    return inSize
  }

  // RFC 9110 §6.5.1: how long a body is does not stand behind it.
  #checkTrailers({ text, marks, marked }: HeadScanner): void {
    for (let i = 0; i < marked; i += 4) {
      const name = text.slice(marks[i], marks[i + 1])
      if (isNamed(name, 'content-length') || isNamed(name, 'transfer-encoding'))
        throw new MalformedResponse('answer-length', 'a length or a coding among the trailers')
    }
    this.#scanner.awaitHead()
  }

  /** Puts small chunks of one read behind one another, so that a body in chunks of a byte is not handed on by the byte. */
  #gather(bytes: Buffer, from: number, to: number): void {
    if (this.#pieceFrom < this.#pieceTo && to - from <= smallBytes) {
      bytes.copyWithin(this.#pieceTo, from, to)
      this.#pieceTo += to - from
      return
    }
    this.#handOn(bytes)
    this.#pieceFrom = from
    this.#pieceTo = to
  }

  #handOn(bytes: Buffer): void {
    const from = this.#pieceFrom
    this.#pieceFrom = this.#pieceTo
    if (from < this.#pieceTo && this.#state !== stopped) this.#events.body(bytes, from, this.#pieceTo)
  }
}

const malformed = (part: string, byte: number): MalformedResponse =>
  refused(`byte 0x${byte.toString(16).padStart(2, '0')} in its ${part}`)

const refused = (message: string): MalformedResponse => new MalformedResponse('not-http', `a chunk: ${message}`)
