import { MalformedResponseError } from '../classify-error.ts'

/** The maximum of bytes of a head, or of a trailer section: twice what a request may have. */
const maxHeadBytes = 64 * 1024

/**
 * The maximum of fields of a head, or of a trailer section: 100 more than a request may ever have
 * (`listen.maxHeaderFields`).
 */
const maxHeadFields = 10_100

// Memory for this many is kept for the next head: four for each of 100 fields.
const usualOffsets = 400

// RFC 9110 §5.6.2, §5.5: the bytes of a name, and of a value or a reason phrase: of control characters HTAB alone.
const tokenByte = 1
const textByte = 2
const classes = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  if (/[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte))) classes[byte] = tokenByte
  if (byte === 0x09 || (byte >= 0x20 && byte !== 0x7f)) classes[byte] = (classes[byte] ?? 0) | textByte
}

/** Returns whether a byte may stand in a token. */
export const isTokenByte = (byte: number): boolean => ((classes[byte] as number) & tokenByte) !== 0

/** Returns whether a byte may stand in a value. */
export const isTextByte = (byte: number): boolean => ((classes[byte] as number) & textByte) !== 0

const [tab, lf, cr, space, zero, nine, colon] = [0x09, 0x0a, 0x0d, 0x20, 0x30, 0x39, 0x3a]

// RFC 9112 §2.3, §4: the name is in upper case, and every minor version of HTTP/1 is read. A zero stands for any digit.
const statusLine = Buffer.from('HTTP/1.0 000')
/** Where the reason phrase begins, if there is one. */
const reasonAt = statusLine.length + 1

// The states: what the next byte belongs to.
const inStatus = 0
const afterStatus = 1
const inReason = 2
const atLineFeed = 3
const atLineStart = 4
const inName = 5
const beforeValue = 6
const inValue = 7
const atLastLineFeed = 8

/**
 * Finds the lines of a head, or of a trailer section, and rejects the first byte that may not stand where it does. It
 * continues where it has stopped: each byte is looked at once, however it comes.
 */
export class ResponseHeadScanner {
  /** The whole text, when it is complete. */
  text = ''
  status = 0
  /** The minor version of HTTP/1. */
  minorVersion = 0
  /** Where in the text each field's name and value begin and end, four numbers a field, without the blanks around. */
  readonly offsets: number[] = []
  /** The number of offsets that are in use. */
  offsetCount = 0
  #state = inStatus
  /** How far it has come. */
  #at = 0
  #reasonTo = 0
  /** The bytes so far, while more must come. */
  #buffered: Buffer | null = null
  #bufferedLength = 0

  /** Awaits a head. */
  awaitHead(): void {
    this.#await(inStatus)
  }

  /** Awaits trailer fields alone. */
  awaitTrailers(): void {
    this.#await(atLineStart)
  }

  /** The reason phrase; may be empty. */
  get reason(): string {
    return this.text.slice(reasonAt, this.#reasonTo)
  }

  /** Continues with bytes[from, to). Returns where the bytes behind the head begin; -1: more must come. */
  read(bytes: Buffer, from: number, to: number): number {
    const before = this.#bufferedLength
    if (before > 0) this.#buffer(bytes, from, to)
    const source = this.#buffered ?? bytes
    const base = before > 0 ? 0 : from
    const length = this.#scan(source, base, before > 0 ? this.#bufferedLength : to)
    if (length > 0) {
      this.text = source.toString('latin1', base, base + length)
      return from + length - before
    }
    if (before === 0) this.#buffer(bytes, from, to)
    return -1
  }

  #await(state: number): void {
    this.text = ''
    this.offsetCount = 0
    if (this.offsets.length > usualOffsets) this.offsets.length = 0
    this.#state = state
    this.#at = 0
    this.#buffered = null
    this.#bufferedLength = 0
  }

  /** Copies the bytes, up to the limit. */
  #buffer(bytes: Buffer, from: number, to: number): void {
    const before = this.#bufferedLength
    const length = Math.min(before + to - from, maxHeadBytes)
    let buffered = this.#buffered
    if (buffered === null || buffered.length < length) {
      buffered = Buffer.allocUnsafe(Math.min(2 * length, maxHeadBytes))
      this.#buffered?.copy(buffered, 0, 0, before)
      this.#buffered = buffered
    }
    bytes.copy(buffered, before, from, to)
    this.#bufferedLength = length
  }

  /** Scans bytes[base, to), from where it has stopped. Returns the length of the head; 0: more must come. */
  #scan(bytes: Buffer, base: number, to: number): number {
    const { offsets } = this
    const end = Math.min(to, base + maxHeadBytes)
    let state = this.#state
    let at = base + this.#at
    while (at < end) {
      switch (state) {
        case inName:
          while (at < end && ((classes[bytes[at] as number] as number) & tokenByte) !== 0) at++
          if (at === end) break
          // RFC 9110 §5.1: a name is a token. RFC 9112 §5.1: no blank before the colon. §5.2: nor is a line folded.
          if (bytes[at] !== colon || at - base === offsets[this.offsetCount - 1])
            throw malformedError('field name', bytes[at])
          this.#addOffset(at - base)
          at++
          state = beforeValue
          break
        case beforeValue:
          while (at < end && isBlank(bytes[at])) at++
          if (at === end) break
          this.#addOffset(at - base)
          state = inValue
          break
        case inValue:
          while (at < end && ((classes[bytes[at] as number] as number) & textByte) !== 0) at++
          if (at === end) break
          if (bytes[at] !== cr) throw malformedError('field value', bytes[at])
          this.#addOffset(this.#endOfValue(bytes, base, at))
          at++
          state = atLineFeed
          break
        case atLineFeed:
          if (bytes[at] !== lf) throw malformedError('line end', bytes[at])
          at++
          state = atLineStart
          break
        case atLineStart:
          if (bytes[at] === cr) {
            at++
            state = atLastLineFeed
            break
          }
          if (this.offsetCount === 4 * maxHeadFields) throw tooLargeError(`more than ${maxHeadFields} fields`)
          this.#addOffset(at - base)
          state = inName
          break
        case atLastLineFeed:
          if (bytes[at] !== lf) throw malformedError('line end', bytes[at])
          return at + 1 - base
        case inStatus:
          at = readStatusLine(bytes, base, at, end)
          if (at - base < statusLine.length) break
          this.#readStatus(bytes, base)
          state = afterStatus
          break
        case afterStatus:
          // RFC 9112 §4: a blank follows even where no phrase does. Many servers leave it out.
          if (bytes[at] === space) at++
          else if (bytes[at] !== cr) throw notHttpError()
          state = inReason
          break
        case inReason:
          while (at < end && ((classes[bytes[at] as number] as number) & textByte) !== 0) at++
          if (at === end) break
          if (bytes[at] !== cr) throw malformedError('reason phrase', bytes[at])
          this.#reasonTo = at - base
          at++
          state = atLineFeed
          break
      }
    }
    if (end - base === maxHeadBytes) throw tooLargeError(`more than ${maxHeadBytes} bytes`)
    this.#state = state
    this.#at = at - base
    return 0
  }

  #addOffset(at: number): void {
    this.offsets[this.offsetCount++] = at
  }

  // RFC 9112 §4: three digits. RFC 9110 §15: from 100.
  #readStatus(bytes: Buffer, base: number): void {
    this.minorVersion = digit(bytes, base + 7)
    this.status = 100 * digit(bytes, base + 9) + 10 * digit(bytes, base + 10) + digit(bytes, base + 11)
    if (this.status < 100) throw new MalformedResponseError('answer-status', 'a status below 100')
  }

  // RFC 9112 §5.1: blanks behind a value are no part of it.
  #endOfValue(bytes: Buffer, base: number, to: number): number {
    const from = base + (this.offsets[this.offsetCount - 1] as number)
    let end = to
    while (end > from && isBlank(bytes[end - 1])) end--
    return end - base
  }
}

/** Reads the part of a status line whose length is known. Returns how far it came. */
const readStatusLine = (bytes: Buffer, base: number, from: number, to: number): number => {
  const end = Math.min(to, base + statusLine.length)
  for (let at = from; at < end; at++) {
    const byte = bytes[at] as number
    const expected = statusLine[at - base] as number
    if (expected === zero ? byte < zero || byte > nine : byte !== expected) throw notHttpError()
  }
  return end
}

const digit = (bytes: Buffer, at: number): number => (bytes[at] as number) - zero

const isBlank = (byte: number | undefined): boolean => byte === space || byte === tab

const notHttpError = (): MalformedResponseError => new MalformedResponseError('not-http', 'no status line of HTTP/1')

// RFC 9112 §2.2: a line ends with CR LF. A bare CR or LF is rejected, here as anywhere in the framing.
const malformedError = (part: string, byte: number | undefined): MalformedResponseError =>
  new MalformedResponseError('not-http', `byte 0x${byte?.toString(16).padStart(2, '0')} in a ${part} of the head`)

const tooLargeError = (message: string): MalformedResponseError =>
  new MalformedResponseError('answer-fields-too-large', message)
