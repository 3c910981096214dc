import type { Socket } from 'node:net'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import type { HeaderFields } from '../../exchange/header-fields.ts'
import { maxSingleWriteBytes } from '../../lib/buffers.ts'
import type { DownstreamResponse } from '../codec.ts'
import { getLingerMode, type LingerMode } from '../listener/linger.ts'
import { closeAfterResponse } from '../request/active-request.ts'
import type { Http1Request } from './http1-request.ts'
import { renderInterimHead, renderResponseHead } from './response-head.ts'

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
    // Nothing holds back the upstream of a client that does not read, so further interim responses are dropped.
    if (this.writableLength < this.#connection.socket.writableHighWaterMark) this.#writeAhead(head)
  }

  writeContinue(onSent: () => void): void {
    this.#writeAhead(renderInterimHead(100, []))
    if (this.isHeadOfLine) onSent()
    else this.#queue.push({ data: '', onFlushed: onSent })
  }

  markLast(failure: GatewayError | null, unread: boolean): void {
    // A request behind this one is under way, and its response announces the end.
    if (this.request.complete && this.#connection.isFollowed(this)) return
    this.isLast = true
    if (unread) this.lingerMode = getLingerMode(failure)
  }

  flushHead(): void {
    if (this.#head === '') return
    // Many upstreams write head and body apart: a body of the next turn takes the head along.
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
    // Node resets no TLS connection; a close without close_notify says the same (RFC 8446 §6.1).
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

  /** Nothing may precede the final response once its bytes have begun. */
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

const frameLastChunk = ({ length }: Buffer | string): readonly [before: string, after: string] =>
  length === 0 ? ['', '0\r\n\r\n'] : [`${length.toString(16)}\r\n`, '\r\n0\r\n\r\n']
