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

/** Receives the parts of a response, in the order in which they come. */
export interface ResponseEvents extends BodyEvents {
  /** The head of an interim response, 100-199 but for 101. */
  interim(status: number, fields: string[]): void
  /** The head of the final response. `reason` may be empty. `fields` are flat, latin1, as received, and end-to-end. */
  head(status: number, reason: string, fields: string[]): void
  end(): void
}

// Of a head, or of a trailer section: twice the bytes that a request may have, and 100 fields more than a request may
// ever have (`listen.maxHeaderFields`).
const limits: HeadLimits = { maxBytes: 64 * 1024, maxFields: 10_100 }

const rejectResponse: RejectMessage = (flaw, message) =>
  new MalformedResponseError(
    flaw === 'too-large' ? 'answer-fields-too-large' : flaw === 'trailer' ? 'answer-length' : 'not-http',
    message,
  )

// The states: what the next byte belongs to.
const idle = 0
const head = 1
const bodyOfLength = 2
const bodyUntilClose = 3
const bodyInChunks = 4
const stopped = 5

/**
 * Parses the responses of one connection, one after another, strictly: what RFC 9112 leaves to a lenient parser is
 * rejected. Each byte is read once, and the checked bytes are the ones that are handed on. It lives as long as its
 * connection.
 */
export class ResponseParser {
  /** Whether a byte has come since awaitResponse(). */
  hasStarted = false
  /** After `end`: whether another request may follow on the connection. */
  isReusable = false
  /** After `end`: how long the endpoint keeps the connection, by the response's own Keep-Alive; null: unsaid. */
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

  /** Reads bytes[0, length). Throws MalformedResponseError; then the connection must be closed. */
  read(bytes: Buffer, length: number): void {
    if (length === 0 || this.#state === stopped) return
    // RFC 9112 §9.2: bytes that no request has asked for are no response.
    if (this.#state === idle) throw new MalformedResponseError('not-http', 'bytes that no request has asked for')
    this.hasStarted = true
    let at = 0
    while (at < length) at = this.#step(bytes, at, length)
  }

  /**
   * Notes that the endpoint has ended its side. Returns true when that completes the response; false: none is awaited,
   * or it is cut.
   */
  finish(): boolean {
    if (this.#state !== bodyUntilClose) return false
    this.#end(0, 0)
    return true
  }

  /** After the head: whether the end of the connection delimits the body. */
  get isUntilClose(): boolean {
    return this.#state === bodyUntilClose
  }

  /** Ignores all further bytes. */
  stop(): void {
    this.#state = stopped
    this.#chunkedBody.stop()
  }

  /** Reads one part, or as much as there is of it. Returns where the next one begins. */
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
      default: // it was stopped
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
      throw new MalformedResponseError('answer-status', 'a switch of protocols that was not asked for')
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
    // RFC 9112 §9.2: bytes after it belong to no request. The response stands, the connection is not to be trusted.
    if (at < length) this.isReusable = false
    this.#events.end()
    return length // another request may have begun by now
  }

  /** Reads the framing (RFC 9112 §6.3) and whether the connection stays open (§9.3). Returns the fields to hand on. */
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
        if (length >= 0) throw new MalformedResponseError('answer-length', 'a length twice')
        length = readLength(value)
        // RFC 9110 §8.6: none stands in an interim response. §15.3.6: a 205 has none but 0.
        if (status >= 200 && status !== 205) fields.push(name, value)
      } else if (fieldNameEquals(name, 'connection')) {
        connection = connection === '' ? value : `${connection},${value}`
      } else if (fieldNameEquals(name, 'transfer-encoding')) {
        // RFC 9112 §7: any other coding would be handed on with the body still in it. §6.1: HTTP/1.0 has none.
        if (isChunked || minorVersion === 0 || value.toLowerCase() !== 'chunked')
          throw new MalformedResponseError('answer-coding', 'a transfer coding other than chunked, once')
        isChunked = true
      } else if (fieldNameEquals(name, 'keep-alive')) {
        if (status >= 200) this.keepAliveMs = readKeepAliveTimeout(value) ?? this.keepAliveMs
      } else if (!isHopByHop(name)) {
        fields.push(name, value)
      }
    }
    // RFC 9112 §6.3: both together are how a response is smuggled.
    if (isChunked && length >= 0) throw new MalformedResponseError('answer-length', 'a length and a transfer coding')
    if (status >= 200) this.#setFraming(status, length, isChunked, isPersistent(minorVersion > 0, connection))
    if (status === 205) fields.push('Content-Length', '0')
    return connection === '' ? fields : dropConnectionNominated(fields, connection)
  }

  /** Decides how the body ends (RFC 9112 §6.3) and whether the connection outlives it. `length` may be -1: unsaid. */
  #setFraming(status: number, length: number, isChunked: boolean, persistent: boolean): void {
    if (status === 204 || status === 205 || status === 304) {
      this.#state = bodyOfLength
      this.#remaining = 0
      // RFC 9110 §15.3.6, §15.4.5: announced content must not come. If it does, it would pass for the next response.
      this.isReusable = persistent && !isChunked && (length === 0 || (length < 0 && status !== 205))
      return
    }
    this.#state = isChunked ? bodyInChunks : length < 0 ? bodyUntilClose : bodyOfLength
    this.#remaining = length
    this.isReusable = persistent && this.#state !== bodyUntilClose
  }
}

// RFC 9110 §8.6: digits alone. RFC 9112 §6.3: no list either, even of the same length twice.
const readLength = (value: string): number => {
  if (!/^\d+$/.test(value)) throw new MalformedResponseError('answer-length', 'a length that is no number')
  const length = Number(value)
  if (!Number.isSafeInteger(length)) throw new MalformedResponseError('answer-length', 'a length beyond counting')
  return length
}

/** Reads how long a Keep-Alive field says that the connection may be idle, in ms. */
const readKeepAliveTimeout = (value: string): number | null => {
  const seconds = /\btimeout=(\d+)/i.exec(value)?.[1]
  return seconds === undefined ? null : 1000 * Number(seconds)
}

const [cr, space, zero] = [0x0d, 0x20, 0x30]

// RFC 9112 §2.3, §4: the name is in upper case, and every minor version of HTTP/1 is read.
const pattern = Buffer.from('HTTP/1.0 000')
const reasonAt = pattern.length + 1

// The states: what the next byte belongs to.
const inStatus = 0
const afterStatus = 1
const inReason = 2

/** The first line of a response (RFC 9112 §4). */
class StatusLine implements StartLine {
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
