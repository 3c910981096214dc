/** `trailer`: one that states the framing. */
export type MessageFlaw = 'field' | 'line-end' | 'chunk' | 'trailer' | 'too-large'

export type RejectMessage = (flaw: MessageFlaw, message: string) => Error

export interface StartLine {
  reset(): void
  /** Continues at bytes[at, end) with a line from `base`. Returns the index of its CR; `end`: more must come. */
  scan(bytes: Buffer, base: number, at: number, end: number): number
}

export interface HeadLimits {
  readonly maxBytes: number
  readonly maxFields: number
}

// Kept for the next head: 4 for each of 100 fields.
const usualOffsets = 400

// RFC 9110 §5.6.2, §5.5: bytes of a name, and of a value or reason phrase.
const tokenByte = 1
const textByte = 2
const classes = new Uint8Array(256)
for (let byte = 0; byte < 256; byte++) {
  if (/[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(byte))) classes[byte] = tokenByte
  if (byte === 0x09 || (byte >= 0x20 && byte !== 0x7f)) classes[byte] = (classes[byte] ?? 0) | textByte
}

export const isTokenByte = (byte: number): boolean => ((classes[byte] as number) & tokenByte) !== 0

export const isTextByte = (byte: number): boolean => ((classes[byte] as number) & textByte) !== 0

const [tab, lf, cr, space, zero, nine, colon] = [0x09, 0x0a, 0x0d, 0x20, 0x30, 0x39, 0x3a]

// States: where the next byte belongs.
const [inStartLine, atLineFeed, atLineStart, inName, beforeValue, inValue, atLastLineFeed] = [0, 1, 2, 3, 4, 5, 6]

/** Rejects the first wrong byte. Reads each byte once, however the bytes are split. */
export class HeadScanner {
  text = ''
  /** Begin and end of each name and value in `text`, without surrounding blanks. */
  readonly #offsets: number[] = []
  #offsetCount = 0
  readonly #startLine: StartLine
  #limits: HeadLimits
  readonly #reject: RejectMessage
  #state = inStartLine
  #at = 0
  /** The bytes so far, while more must come. */
  #buffered: Buffer | null = null
  #bufferedLength = 0

  constructor(startLine: StartLine, limits: HeadLimits, reject: RejectMessage) {
    this.#startLine = startLine
    this.#limits = limits
    this.#reject = reject
  }

  get fieldCount(): number {
    return this.#offsetCount / 4
  }

  name(i: number): string {
    return this.text.slice(this.#offsets[4 * i], this.#offsets[4 * i + 1])
  }

  value(i: number): string {
    return this.text.slice(this.#offsets[4 * i + 2], this.#offsets[4 * i + 3])
  }

  awaitHead(limits = this.#limits): void {
    this.#limits = limits
    this.#startLine.reset()
    this.#await(inStartLine)
  }

  awaitTrailers(): void {
    this.#await(atLineStart)
  }

  /** Returns the index after the head; -1: more must come. */
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
    this.#offsetCount = 0
    if (this.#offsets.length > usualOffsets) this.#offsets.length = 0
    this.#state = state
    this.#at = 0
    this.#buffered = null
    this.#bufferedLength = 0
  }

  #buffer(bytes: Buffer, from: number, to: number): void {
    const before = this.#bufferedLength
    const length = Math.min(before + to - from, this.#limits.maxBytes)
    let buffered = this.#buffered
    if (buffered === null || buffered.length < length) {
      buffered = Buffer.allocUnsafe(Math.min(2 * length, this.#limits.maxBytes))
      this.#buffered?.copy(buffered, 0, 0, before)
      this.#buffered = buffered
    }
    bytes.copy(buffered, before, from, to)
    this.#bufferedLength = length
  }

  /** Returns the length of the head; 0: more must come. */
  #scan(bytes: Buffer, base: number, to: number): number {
    const offsets = this.#offsets
    const { maxBytes, maxFields } = this.#limits
    const end = Math.min(to, base + maxBytes)
    let state = this.#state
    let at = base + this.#at
    while (at < end) {
      switch (state) {
        case inName:
          while (at < end && ((classes[bytes[at] as number] as number) & tokenByte) !== 0) at++
          if (at === end) break
          // RFC 9110 §5.1: a name is a token. RFC 9112 §5.1: no blank before the colon. §5.2: no folded lines.
          if (bytes[at] !== colon || at - base === offsets[this.#offsetCount - 1])
            throw this.#malformed('field', 'field name', bytes[at])
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
          if (bytes[at] !== cr) throw this.#malformed('field', 'field value', bytes[at])
          this.#addOffset(this.#endOfValue(bytes, base, at))
          at++
          state = atLineFeed
          break
        case atLineFeed:
          if (bytes[at] !== lf) throw this.#malformed('line-end', 'line end', bytes[at])
          at++
          state = atLineStart
          break
        case atLineStart:
          if (bytes[at] === cr) {
            at++
            state = atLastLineFeed
            break
          }
          if (this.#offsetCount === 4 * maxFields) throw this.#reject('too-large', `more than ${maxFields} fields`)
          this.#addOffset(at - base)
          state = inName
          break
        case atLastLineFeed:
          if (bytes[at] !== lf) throw this.#malformed('line-end', 'line end', bytes[at])
          return at + 1 - base
        case inStartLine:
          at = this.#startLine.scan(bytes, base, at, end)
          if (at === end) break
          at++
          state = atLineFeed
          break
      }
    }
    if (end - base === maxBytes) throw this.#reject('too-large', `more than ${maxBytes} bytes`)
    this.#state = state
    this.#at = at - base
    return 0
  }

  #addOffset(at: number): void {
    this.#offsets[this.#offsetCount++] = at
  }

  // RFC 9112 §5.1: the blanks after a value are not part of it.
  #endOfValue(bytes: Buffer, base: number, to: number): number {
    const from = base + (this.#offsets[this.#offsetCount - 1] as number)
    let end = to
    while (end > from && isBlank(bytes[end - 1])) end--
    return end - base
  }

  // RFC 9112 §2.2: a bare CR or LF is rejected throughout the framing.
  #malformed(flaw: MessageFlaw, part: string, byte: number | undefined): Error {
    return this.#reject(flaw, `${describeByte(byte)} in a ${part} of the head`)
  }
}

/** A zero in the pattern stands for any digit. */
export const isPatternByte = (byte: number, expected: number): boolean =>
  expected === zero ? byte >= zero && byte <= nine : byte === expected

export const describeByte = (byte: number | undefined): string => `byte 0x${byte?.toString(16).padStart(2, '0')}`

const isBlank = (byte: number | undefined): boolean => byte === space || byte === tab
