import { describeByte, isPatternByte, isTextByte, type StartLine } from '../../exchange/http1/head-scanner.ts'
import { MalformedResponseError } from '../classify-error.ts'

const [cr, space, zero] = [0x0d, 0x20, 0x30]

// RFC 9112 §2.3, §4: the name is in upper case, and every minor version of HTTP/1 is read.
const pattern = Buffer.from('HTTP/1.0 000')
const reasonAt = pattern.length + 1

// The states: what the next byte belongs to.
const inStatus = 0
const afterStatus = 1
const inReason = 2

/** The first line of a response (RFC 9112 §4). */
export class StatusLine implements StartLine {
  status = 0
  minorVersion = 0
  #state = inStatus
  #reasonTo = 0

  reset(): void {
    this.#state = inStatus
  }

  /** Returns the reason phrase of the head `text`; may be empty. */
  reason(text: string): string {
    return text.slice(reasonAt, this.#reasonTo)
  }

  scan(bytes: Buffer, base: number, from: number, end: number): number {
    let at = from
    if (this.#state === inStatus) {
      at = readStatus(bytes, base, at, end)
      if (at - base < pattern.length) return end
      this.#setStatus(bytes, base)
      this.#state = afterStatus
    }
    if (this.#state === afterStatus && at < end) {
      // RFC 9112 §4: a blank follows even where no phrase does. Many servers leave it out.
      if (bytes[at] === space) at++
      else if (bytes[at] !== cr) throw notHttpError()
      this.#state = inReason
    }
    while (at < end && isTextByte(bytes[at] as number)) at++
    if (at === end) return end
    if (bytes[at] !== cr)
      throw new MalformedResponseError('not-http', `${describeByte(bytes[at])} in a reason phrase of the head`)
    this.#reasonTo = at - base
    return at
  }

  // RFC 9112 §4: three digits. RFC 9110 §15: from 100.
  #setStatus(bytes: Buffer, base: number): void {
    this.minorVersion = digit(bytes, base + 7)
    this.status = 100 * digit(bytes, base + 9) + 10 * digit(bytes, base + 10) + digit(bytes, base + 11)
    if (this.status < 100) throw new MalformedResponseError('answer-status', 'a status below 100')
  }
}

/** Reads the part of a status line whose length is known. Returns how far it came. */
const readStatus = (bytes: Buffer, base: number, from: number, to: number): number => {
  const end = Math.min(to, base + pattern.length)
  for (let at = from; at < end; at++)
    if (!isPatternByte(bytes[at] as number, pattern[at - base] as number)) throw notHttpError()
  return end
}

const digit = (bytes: Buffer, at: number): number => (bytes[at] as number) - zero

const notHttpError = (): MalformedResponseError => new MalformedResponseError('not-http', 'no status line of HTTP/1')
