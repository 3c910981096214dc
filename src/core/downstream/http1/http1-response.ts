import type { Socket } from 'node:net'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { checkFields, fieldNameEquals, type HeaderFields, isFieldValue } from '../../exchange/header-fields.ts'
import { STATUS_CODES } from '../../exchange/node-http.ts'
import { maxSingleWriteBytes } from '../../lib/buffers.ts'
import { epochMs } from '../../lib/clock.ts'
import type { DownstreamResponse } from '../codec.ts'
import { getLingerMode, type LingerMode } from '../listener/linger.ts'
import { closeAfterResponse } from '../request/active-request.ts'
import type { Http1Request } from './http1-request.ts'

export interface ResponseConnection {
  readonly socket: Socket
  readonly keepAliveMs: number
  isHeadOfLine(response: Http1Response): boolean
  isFollowed(response: Http1Response): boolean
  onResponseSent(response: Http1Response): void
}

type Flushed = (error?: Error | null) => void

/** Goes out after the earlier responses of its connection. */
export class Http1Response implements DownstreamResponse {
  statusCode = 200
  headersSent = false
  destroyed = false
  writableEnded = false
  writableFinished = false
  charsSentAhead = 0
  isLast = false
  lingerMode: LingerMode = 'long'
  readonly request: Http1Request
  readonly #connection: ResponseConnection
  /** Kept until `flushHead`, or the first bytes of the body. */
  #head = ''
  #hasBody = true
  #isChunked = false
  #queue: { readonly data: string | Buffer; readonly onFlushed: Flushed | undefined }[] = []
  queuedBytes = 0
  readonly #closeListeners: (() => void)[] = []
  readonly #finishListeners: (() => void)[] = []
  readonly #drainListeners: (() => void)[] = []
  readonly #onLastFlushed: Flushed = (error) => {
    if (!error) this.#finish()
  }

  constructor(request: Http1Request, connection: ResponseConnection) {
    this.request = request
    this.#connection = connection
  }

  get isHeadOfLine(): boolean {
    return this.writableFinished || this.#connection.isHeadOfLine(this)
  }

  get writableLength(): number {
    if (this.writableFinished) return 0
    return this.queuedBytes + this.#head.length + (this.isHeadOfLine ? this.#connection.socket.writableLength : 0)
  }

  get isFlushed(): boolean {
    // Nearly always the system has taken all bytes at once.
    return this.writableFinished || this.#connection.socket.writableLength === 0
  }

  writeFields(status: number, phrase: string, fields: HeaderFields): void {
    const { request } = this
    const head = renderResponseHead(status, phrase, fields, request, this.isLast, this.#connection.keepAliveMs)
    this.#head = head.text.slice(this.charsSentAhead)
    this.#hasBody = head.hasBody
    this.#isChunked = head.isChunked
    this.isLast = head.isLast
    if (this.isLast) closeAfterResponse(request.socket)
    this.statusCode = status
    this.headersSent = true
  }

  writeInterim(status: number, fields: HeaderFields): void {
    const head = renderInterimHead(status, fields)
    // Nothing holds back the upstream of a client that does not read, so excess interim responses (hints) are dropped.
    if (this.writableLength < this.#connection.socket.writableHighWaterMark) this.#writeAhead(head)
  }

  writeContinue(onSent: () => void): void {
    this.#writeAhead(renderInterimHead(100, []))
    // At the head of the line, the write goes out first.
    if (this.isHeadOfLine) onSent()
    else this.#queue.push({ data: '', onFlushed: onSent })
  }

  markLast(failure: GatewayError | null, unread: boolean): void {
    // A request behind it is under way, and that response announces the end.
    if (this.request.complete && this.#connection.isFollowed(this)) return
    this.isLast = true
    if (unread) this.lingerMode = getLingerMode(failure)
  }

  flushHead(): void {
    if (this.#head === '') return
    // Many upstreams write head and body apart: the body of the next turn takes the head along.
    setImmediate(() => {
      if (!this.destroyed && this.#head !== '') this.#put(this.#takeHead())
    })
  }

  write(chunk: Buffer, onFlushed?: Flushed): boolean {
    if (this.destroyed) return true
    // RFC 9112 §7.1: an empty chunk would be the last chunk.
    if (!this.#hasBody || chunk.length === 0) {
      if (onFlushed !== undefined) process.nextTick(onFlushed)
      return true
    }
    const { socket } = this.#connection
    socket.cork()
    const head = this.#takeHead()
    if (this.#isChunked) this.#put(`${head}${chunk.length.toString(16)}\r\n`)
    else if (head !== '') this.#put(head)
    this.#put(chunk, onFlushed)
    if (this.#isChunked) this.#put('\r\n')
    socket.uncork()
    return this.writableLength < socket.writableHighWaterMark
  }

  end(body: Buffer | string = ''): void {
    this.writableEnded = true
    if (this.destroyed) return
    this.request.discardUnasked()
    const head = this.#takeHead()
    const content = this.#hasBody ? body : ''
    const [before, after] = this.#isChunked ? frameLastChunk(content) : ['', '']
    if (typeof content === 'string' || content.length <= maxSingleWriteBytes) {
      const text = `${head}${before}${typeof content === 'string' ? content : content.toString('latin1')}${after}`
      if (text !== '' || !this.isFlushed || !this.isHeadOfLine) this.#put(text, this.#onLastFlushed)
      else process.nextTick(this.#onLastFlushed)
      return
    }
    const { socket } = this.#connection
    socket.cork()
    this.#put(head + before)
    this.#put(content, after === '' ? this.#onLastFlushed : undefined)
    if (after !== '') this.#put(after, this.#onLastFlushed)
    socket.uncork()
  }

  reset(): void {
    const { socket } = this.#connection
    if (!this.isHeadOfLine) return this.#withdraw()
    // Node resets no TLS connection; there, a close without close_notify says the same (RFC 8446 §6.1).
    if ('encrypted' in socket) socket.destroy()
    else socket.resetAndDestroy()
  }

  on(event: 'close' | 'drain' | 'finish', listener: () => void): this {
    if (event === 'close') this.#closeListeners.push(listener)
    else if (event === 'finish') this.#finishListeners.push(listener)
    else this.#drainListeners.push(listener)
    return this
  }

  onHeadOfLine(): void {
    if (this.#queue.length === 0) return
    const { socket } = this.#connection
    socket.cork()
    const queue = this.#queue
    this.#queue = []
    this.queuedBytes = 0
    for (const { data, onFlushed } of queue) this.#put(data, onFlushed)
    socket.uncork()
    if (!this.writableEnded && socket.writableLength === 0) this.onDrain()
  }

  /** The connection ends in place of an unsent response. */
  #withdraw(): void {
    closeAfterResponse(this.request.socket)
    this.#queue = []
    this.queuedBytes = 0
    if (!this.request.complete) this.request.discard()
    this.onConnectionClosed()
  }

  onDrain(): void {
    for (const listener of this.#drainListeners) listener()
  }

  onConnectionClosed(): void {
    this.destroyed = true
    for (const listener of this.#closeListeners.splice(0)) listener()
  }

  #finish(): void {
    if (this.destroyed || this.writableFinished) return
    this.writableFinished = true
    this.#connection.onResponseSent(this)
    for (const listener of this.#finishListeners.splice(0)) listener()
    for (const listener of this.#closeListeners.splice(0)) listener()
  }

  #takeHead(): string {
    const head = this.#head
    this.#head = ''
    return head
  }

  /** Nothing may precede the final response once that has begun. */
  #writeAhead(head: string): void {
    if (this.charsSentAhead === 0 && !this.headersSent && !this.destroyed) this.#put(head)
  }

  #put(data: string | Buffer, onFlushed?: Flushed): void {
    if (!this.#connection.isHeadOfLine(this)) {
      this.#queue.push({ data, onFlushed })
      this.queuedBytes += data.length
    } else if (typeof data === 'string') this.#connection.socket.write(data, 'latin1', onFlushed)
    else this.#connection.socket.write(data, onFlushed)
  }
}

// RFC 9112 §7.1.
const frameLastChunk = ({ length }: Buffer | string): readonly [before: string, after: string] =>
  length === 0 ? ['', '0\r\n\r\n'] : [`${length.toString(16)}\r\n`, '\r\n0\r\n\r\n']

/**
 * Decides framing (RFC 9112 §6.3) and persistence (§9.3). `phrase` empty: the standard one. `isLast`: the gateway ends
 * the connection. Throws on a status, phrase or field that a head cannot hold.
 */
const renderResponseHead = (
  status: number,
  phrase: string,
  fields: HeaderFields,
  { method, httpVersion, isPersistent }: Pick<Http1Request, 'method' | 'httpVersion' | 'isPersistent'>,
  isLast: boolean,
  keepAliveMs: number,
) => {
  if (status < 100 || status > 999) throw new RangeError(`a status of ${status}`)
  let hasDate = false
  let hasLength = false
  for (let i = 0; i < fields.length; i += 2) {
    if (fieldNameEquals(fields[i] as string, 'content-length')) hasLength = true
    else if (fieldNameEquals(fields[i] as string, 'date')) hasDate = true
  }
  // RFC 9110 §9.3.2, §15.3.5, §15.4.5: no content.
  const hasBody = method !== 'HEAD' && status !== 204 && status !== 304
  const isChunked = hasBody && !hasLength && httpVersion === '1.1'
  // HTTP/1.0 knows no chunks: a body without a length ends with the connection.
  const closes = isLast || !isPersistent || (httpVersion === '1.0' && hasBody && !hasLength)
  let text = renderStatusLine(status, phrase) + renderFields(fields)
  if (isLast) text += closeLine
  if (!hasDate) text += `Date: ${formatNow()}\r\n`
  if (!closes) text += `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveMs / 1000)}\r\n`
  else if (!isLast) text += closeLine
  if (isChunked) text += 'Transfer-Encoding: chunked\r\n'
  return { text: `${text}\r\n`, hasBody, isChunked, isLast: closes }
}

const closeLine = 'Connection: close\r\n'

/** RFC 9110 §15.2. Throws as {@link renderResponseHead} does. */
const renderInterimHead = (status: number, fields: HeaderFields): string =>
  `${renderStatusLine(status, '')}${renderFields(fields)}\r\n`

const renderStatusLine = (status: number, phrase: string): string => {
  const reason = phrase === '' ? (STATUS_CODES[status] ?? 'unknown') : phrase
  if (!isFieldValue(reason)) throw new TypeError('a control character in the reason phrase')
  return `HTTP/1.1 ${status} ${reason}\r\n`
}

/** Throws as {@link checkFields} does. */
const renderFields = (fields: HeaderFields): string => {
  checkFields(fields)
  let lines = ''
  for (let i = 0; i < fields.length; i += 2) lines += `${fields[i]}: ${fields[i + 1]}\r\n`
  return lines
}

let formattedSecond = 0
let formatted = ''

/** For `Date` (RFC 9110 §5.6.7), rendered once a second. */
const formatNow = (): string => {
  const second = Math.floor(epochMs() / 1000)
  if (second !== formattedSecond) {
    formattedSecond = second
    formatted = new Date(1000 * second).toUTCString()
  }
  return formatted
}
