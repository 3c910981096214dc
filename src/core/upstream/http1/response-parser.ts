import { dropConnectionNominated, fieldNameEquals, isHopByHop, isPersistent } from '../../exchange/header-fields.ts'
import { type BodyEvents, ChunkedBodyParser } from '../../exchange/http1/chunked-body-parser.ts'
import {
  describeByte,
  type HeadLimits,
  HeadScanner,
  isPatternByte,
  isTextByte,
  type RejectMessage,
  type StartLine,
} from '../../exchange/http1/head-scanner.ts'
import { MalformedResponseError } from '../classify-error.ts'

export interface ResponseEvents extends BodyEvents {
  interim(status: number, fields: string[]): void
  head(status: number, reason: string, fields: string[]): void
  end(): void
}

// For a head or a trailer section: twice a request's bytes, and 100 fields more than the highest
// `listen.maxHeaderFields`.
const limits: HeadLimits = { maxBytes: 64 * 1024, maxFields: 10_100 }

const rejectResponse: RejectMessage = (flaw, message) =>
  new MalformedResponseError(
    flaw === 'too-large' ? 'response-fields-too-large' : flaw === 'trailer' ? 'response-length' : 'not-http',
    message,
  )

const [idle, head, bodyOfLength, bodyUntilClose, bodyInChunks, stopped] = [0, 1, 2, 3, 4, 5]

/**
 * Rejects messages that lenient parsers read differently (RFC 9112). Reads each byte once, so the bytes that are
 * checked are forwarded.
 */
export class ResponseParser {
  hasStarted = false
  /** After `end`: another request may follow on the connection. */
  isReusable = false
  /** Null: no Keep-Alive field. */
  keepAliveMs: number | null = null
  readonly #events: ResponseEvents
  readonly #statusLine = new StatusLine()
  readonly #scanner = new HeadScanner(this.#statusLine, limits, rejectResponse)
  readonly #chunkedBody: ChunkedBodyParser
  #state = idle
  #remaining = 0

  constructor(events: ResponseEvents) {
    this.#events = events
    this.#chunkedBody = new ChunkedBodyParser(events, this.#scanner, rejectResponse)
  }

  awaitResponse(): void {
    this.#state = head
    this.hasStarted = false
    this.isReusable = false
    this.keepAliveMs = null
    this.#scanner.awaitHead()
  }

  /** Throws MalformedResponseError. */
  read(bytes: Buffer, length: number): void {
    if (length === 0 || this.#state === stopped) return
    // RFC 9112 §9.2: bytes without a request are no response.
    if (this.#state === idle) throw new MalformedResponseError('not-http', 'bytes that no request has asked for')
    this.hasStarted = true
    let at = 0
    while (at < length) at = this.#step(bytes, at, length)
  }

  finish(): boolean {
    if (this.#state !== bodyUntilClose) return false
    this.#end(0, 0)
    return true
  }

  get isUntilClose(): boolean {
    return this.#state === bodyUntilClose
  }

  stop(): void {
    this.#state = stopped
    this.#chunkedBody.stop()
  }

  #step(bytes: Buffer, at: number, length: number): number {
    switch (this.#state) {
      case head:
        return this.#readHead(bytes, at, length)
      case bodyOfLength: {
        const next = Math.min(at + this.#remaining, length)
        this.#remaining -= next - at
        this.#events.body(bytes, at, next)
        return this.#endIfComplete(next, length)
      }
      case bodyInChunks: {
        const next = this.#chunkedBody.read(bytes, at, length)
        return next === -1 ? length : this.#end(next, length)
      }
      case bodyUntilClose:
        this.#events.body(bytes, at, length)
        return length
      default:
        return length
    }
  }

  #readHead(bytes: Buffer, at: number, length: number): number {
    const scanner = this.#scanner
    const next = scanner.read(bytes, at, length)
    if (next === -1) return length
    const { status } = this.#statusLine
    const reason = this.#statusLine.reason(scanner.text)
    if (status === 101)
      throw new MalformedResponseError('response-status', 'a switch of protocols that was not asked for')
    const fields = this.#readFields(scanner)
    scanner.awaitHead()
    if (status < 200) {
      this.#events.interim(status, fields)
      return next
    }
    this.#events.head(status, reason, fields)
    return this.#endIfComplete(next, length)
  }

  #endIfComplete(at: number, length: number): number {
    return this.#state === bodyOfLength && this.#remaining === 0 ? this.#end(at, length) : at
  }

  #end(at: number, length: number): number {
    this.#state = idle
    // RFC 9112 §9.2: bytes behind the response belong to no request. The response is valid; the connection is not
    // reused.
    if (at < length) this.isReusable = false
    this.#events.end()
    return length // another request may have begun
  }

  /** RFC 9112 §6.3, §9.3. */
  #readFields(scanner: HeadScanner): string[] {
    const { status, minorVersion } = this.#statusLine
    const fields: string[] = []
    let length = -1
    let isChunked = false
    let connection = ''
    for (let i = 0; i < scanner.fieldCount; i++) {
      const name = scanner.name(i)
      const value = scanner.value(i)
      if (fieldNameEquals(name, 'content-length')) {
        if (length >= 0) throw new MalformedResponseError('response-length', 'Content-Length twice')
        length = readLength(value)
        // RFC 9110 §8.6: an interim response has no length; §15.3.6: a 205 has only 0.
        if (status >= 200 && status !== 205) fields.push(name, value)
      } else if (fieldNameEquals(name, 'connection')) {
        connection = connection === '' ? value : `${connection},${value}`
      } else if (fieldNameEquals(name, 'transfer-encoding')) {
        // RFC 9112 §7: a body in another coding would be forwarded encoded. §6.1: HTTP/1.0 has none.
        if (isChunked || minorVersion === 0 || value.toLowerCase() !== 'chunked')
          throw new MalformedResponseError('response-coding', 'a Transfer-Encoding other than one chunked')
        isChunked = true
      } else if (fieldNameEquals(name, 'keep-alive')) {
        if (status >= 200) this.keepAliveMs = readKeepAliveTimeout(value) ?? this.keepAliveMs
      } else if (!isHopByHop(name)) {
        fields.push(name, value)
      }
    }
    // RFC 9112 §6.3: both together allow response smuggling.
    if (isChunked && length >= 0) throw new MalformedResponseError('response-length', 'a length and a transfer coding')
    if (status >= 200) this.#setFraming(status, length, isChunked, isPersistent(minorVersion > 0, connection))
    if (status === 205) fields.push('Content-Length', '0')
    return connection === '' ? fields : dropConnectionNominated(fields, connection)
  }

  /** RFC 9112 §6.3. `length` -1: no Content-Length. */
  #setFraming(status: number, length: number, isChunked: boolean, persistent: boolean): void {
    if (status === 204 || status === 205 || status === 304) {
      this.#state = bodyOfLength
      this.#remaining = 0
      // RFC 9110 §15.3.6, §15.4.5: no content may follow. Announced content would be read as the next response.
      this.isReusable = persistent && !isChunked && (length === 0 || (length < 0 && status !== 205))
      return
    }
    this.#state = isChunked ? bodyInChunks : length < 0 ? bodyUntilClose : bodyOfLength
    this.#remaining = length
    this.isReusable = persistent && this.#state !== bodyUntilClose
  }
}

// RFC 9110 §8.6: digits only. RFC 9112 §6.3: no list, even of equal lengths.
const readLength = (value: string): number => {
  if (!/^\d+$/.test(value)) throw new MalformedResponseError('response-length', 'a length that is no number')
  const length = Number(value)
  if (!Number.isSafeInteger(length)) throw new MalformedResponseError('response-length', 'a length above 2^53 - 1')
  return length
}

const readKeepAliveTimeout = (value: string): number | null => {
  const seconds = /\btimeout=(\d+)/i.exec(value)?.[1]
  return seconds === undefined ? null : 1000 * Number(seconds)
}

const [cr, space, zero] = [0x0d, 0x20, 0x30]

// RFC 9112 §2.3, §4: the name is in upper case; every minor version of HTTP/1 is accepted.
const pattern = Buffer.from('HTTP/1.0 000')
const reasonAt = pattern.length + 1

const [inStatus, afterStatus, inReason] = [0, 1, 2]

/** RFC 9112 §4. */
class StatusLine implements StartLine {
  status = 0
  minorVersion = 0
  #state = inStatus
  #reasonTo = 0

  reset(): void {
    this.#state = inStatus
  }

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
      // RFC 9112 §4 requires this space even without a phrase. Many servers omit it.
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
    if (this.status < 100) throw new MalformedResponseError('response-status', 'a status below 100')
  }
}

const readStatus = (bytes: Buffer, base: number, from: number, to: number): number => {
  const end = Math.min(to, base + pattern.length)
  for (let at = from; at < end; at++)
    if (!isPatternByte(bytes[at] as number, pattern[at - base] as number)) throw notHttpError()
  return end
}

const digit = (bytes: Buffer, at: number): number => (bytes[at] as number) - zero

const notHttpError = (): MalformedResponseError => new MalformedResponseError('not-http', 'no status line of HTTP/1')
