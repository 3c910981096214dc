import type { ListenConfig } from '../../config/config.ts'
import { GatewayError, type ReasonFor, StacklessError } from '../../exchange/failures/errors.ts'
import { fieldNameEquals, isPersistent, joinValues } from '../../exchange/header-fields.ts'
import { type BodyEvents, ChunkedBodyParser } from '../../exchange/http1/chunked-body-parser.ts'
import { type HeadLimits, HeadScanner, type RejectMessage } from '../../exchange/http1/head-scanner.ts'
import { validateFraming } from '../request/validate-request.ts'
import { RequestLine } from './request-line.ts'

export interface RequestMessage {
  readonly method: string
  readonly target: string
  readonly version: string
  readonly fields: string[]
  /** Null: chunked. */
  readonly length: number | null
  /** RFC 9112 §9.3. */
  readonly isPersistent: boolean
}

export interface RequestEvents extends BodyEvents {
  /** Read no further request now. Default: false. */
  readonly holdsBack?: boolean
  head(message: RequestMessage): void
  end(): void
}

/** Of the whole head, request line included. */
export interface RequestLimits extends HeadLimits {
  readonly maxTargetBytes: number
}

/** Keeps the parser from reading without end. The limits of target and fields are checked later. */
export const getRequestLimits = ({
  maxTarget,
  maxHeaders,
}: Pick<ListenConfig, 'maxTarget' | 'maxHeaders'>): RequestLimits => ({
  maxTargetBytes: maxTarget,
  maxBytes: maxTarget + maxHeaders + 1024,
  maxFields: Number.POSITIVE_INFINITY,
})

// States: where the next byte belongs.
const [betweenRequests, inEmptyLine, inHead, bodyOfLength, bodyInChunks, stopped] = [0, 1, 2, 3, 4, 5]

const [lf, cr] = [0x0a, 0x0d]

/** Stricter than RFC 9112 requires. Reads a byte once: the checked bytes are the forwarded bytes. */
export class RequestParser {
  readonly #events: RequestEvents
  readonly #getLimits: () => RequestLimits
  #limits: RequestLimits
  readonly #requestLine = new RequestLine()
  readonly #scanner: HeadScanner
  readonly #chunkedBody: ChunkedBodyParser
  #state = betweenRequests
  #remaining = 0

  /** `getLimits`: for each head, since a connection outlives a configuration. */
  constructor(events: RequestEvents, getLimits: () => RequestLimits) {
    this.#events = events
    this.#getLimits = getLimits
    this.#limits = getLimits()
    this.#scanner = new HeadScanner(this.#requestLine, this.#limits, this.#reject)
    this.#chunkedBody = new ChunkedBodyParser(events, this.#scanner, this.#reject)
  }

  get isInHead(): boolean {
    return this.#state === inHead
  }

  get isInRequest(): boolean {
    return this.#state !== betweenRequests && this.#state !== inEmptyLine && this.#state !== stopped
  }

  get isStopped(): boolean {
    return this.#state === stopped
  }

  get method(): string | null {
    return this.#requestLine.method
  }

  /** Returns how many bytes were read. After a GatewayError, do not call again. */
  read(bytes: Buffer): number {
    const { length } = bytes
    let at = 0
    while (at < length && !(this.#state === betweenRequests && this.#events.holdsBack === true))
      at = this.#step(bytes, at, length)
    return at
  }

  stop(): void {
    this.#state = stopped
    this.#chunkedBody.stop()
  }

  #step(bytes: Buffer, at: number, length: number): number {
    switch (this.#state) {
      case betweenRequests:
        // RFC 9112 §2.2: empty lines before a request are ignored.
        if (bytes[at] === cr) {
          this.#state = inEmptyLine
          return at + 1
        }
        this.#state = inHead
        this.#limits = this.#getLimits()
        this.#scanner.awaitHead(this.#limits)
        return at
      case inEmptyLine:
        if (bytes[at] !== lf) throw this.#reject('line-end', 'a bare CR in front of a request')
        this.#state = betweenRequests
        return at + 1
      case inHead:
        return this.#readHead(bytes, at, length)
      case bodyOfLength: {
        const next = Math.min(at + this.#remaining, length)
        this.#remaining -= next - at
        this.#events.body(bytes, at, next)
        if (this.#remaining === 0) this.#end()
        return next
      }
      case bodyInChunks: {
        const next = this.#chunkedBody.read(bytes, at, length)
        if (next === -1) return length
        this.#end()
        return next
      }
      default: // stopped
        return length
    }
  }

  #readHead(bytes: Buffer, at: number, to: number): number {
    const scanner = this.#scanner
    const next = scanner.read(bytes, at, to)
    if (next === -1) return to
    const { method, version } = this.#requestLine
    const target = this.#requestLine.target(scanner.text)
    const { fields, length, isPersistent } = this.#readFields(scanner, version)
    scanner.awaitHead()
    this.#state = length === null ? bodyInChunks : length === 0 ? betweenRequests : bodyOfLength
    this.#remaining = length ?? 0
    // RFC 9110 §9.3.6: the bytes after CONNECT are not HTTP.
    const isTunnel = method === 'CONNECT'
    if (isTunnel) this.stop()
    const persists = isPersistent && !isTunnel
    this.#events.head({ method: method ?? '', target, version, fields, length, isPersistent: persists })
    return next
  }

  #end(): void {
    if (this.#state !== stopped) this.#state = betweenRequests
    this.#events.end()
  }

  /** Framing: RFC 9112 §6.3; persistence: §9.3. */
  #readFields(scanner: HeadScanner, version: string): Pick<RequestMessage, 'fields' | 'length' | 'isPersistent'> {
    const fields: string[] = []
    let contentLength: string | null = null
    let transferEncoding: string | null = null
    let connection = ''
    for (let i = 0; i < scanner.fieldCount; i++) {
      const name = scanner.name(i)
      const value = scanner.value(i)
      fields.push(name, value)
      if (name.length === 14 && fieldNameEquals(name, 'content-length')) {
        // RFC 9112 §6.3: no second length, even an equal one.
        if (contentLength !== null) throw headError('bad-length', 'Content-Length twice')
        contentLength = value
      } else if (name.length === 17 && fieldNameEquals(name, 'transfer-encoding')) {
        transferEncoding = joinValues(transferEncoding, value)
      } else if (name.length === 10 && fieldNameEquals(name, 'connection')) {
        connection = connection === '' ? value : `${connection},${value}`
      }
    }
    const failure = validateFraming({ contentLength, transferEncoding }, version)
    // The end of such a request is certain: it gets a normal response.
    if (failure !== null && failure.kind !== 'unsupported-coding') throw failure
    const length = transferEncoding === null ? Number(contentLength ?? 0) : null
    return { fields, length, isPersistent: isPersistent(version === '1.1', connection) }
  }

  readonly #reject: RejectMessage = (flaw, message) => {
    if (flaw !== 'too-large') return headError(reasonByFlaw[flaw], message)
    const cause = new StacklessError(message)
    return this.#state === inHead &&
      this.#requestLine.isTargetLonger(this.#limits.maxTargetBytes, this.#limits.maxBytes)
      ? new GatewayError('uri-too-long', { cause })
      : new GatewayError('header-too-large', { reason: 'fields-too-large', cause })
  }
}

const reasonByFlaw = {
  field: 'bad-field',
  'line-end': 'bad-line-end',
  chunk: 'bad-chunk',
  trailer: 'bad-field',
} as const

const headError = (reason: ReasonFor<'bad-request'>, message: string): GatewayError =>
  new GatewayError('bad-request', { reason, cause: new StacklessError(message) })
