import type { Socket } from 'node:net'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { minFreeBytes, takeExclusively } from '../../lib/buffers.ts'
import { CoalescedTimer } from '../../lib/clock.ts'
import { ChunkQueue } from '../body/chunk-queue.ts'
import type { ClientErrorHandler } from '../listener/client-error.ts'
import { destroyAfterLinger, type LingerMode } from '../listener/linger.ts'
import { type GetListenerConfig, hasReceivedNothing } from '../listener/listener-config.ts'
import { type ClientConnection, getClientConnection } from '../request/active-request.ts'
import { Http1Request } from './http1-request.ts'
import { Http1Response, probeHalfClosed, type ResponseConnection } from './http1-response.ts'
import { type RequestEvents, type RequestMessage, RequestParser } from './request-parser.ts'

export interface Http1ConnectionOptions {
  readonly getListenerConfig: GetListenerConfig
  readonly clientErrors: ClientErrorHandler
  readonly onRequest: (request: Http1Request, response: Http1Response) => void
  /** No connection waits for another request. */
  readonly isClosing: boolean
}

// A client that goes by `Keep-Alive: timeout` may send at its last moment.
const idleMarginMs = 1000
// Of a client that pipelines, some requests are under way at once and the rest waits unread: one connection must not
// hold a group's places at its upstream. No proxy and no library pipelines more.
const maxInFlight = 4
// As much of the rest as is read all the same, since the end of a connection shows only behind it.
const maxUnreadBytes = 16 * 1024

/** A client's connection of HTTP/1: its requests one after another, and their responses in the same order. */
export class Http1Connection implements RequestEvents, ResponseConnection {
  readonly socket: Socket
  readonly #options: Http1ConnectionOptions
  readonly #parser: RequestParser
  /** The responses that are due, oldest first. */
  readonly #responses: Http1Response[] = []
  /** The request whose body comes. */
  #current: Http1Request | null = null
  /** Why nothing is read: the body that comes is not wanted yet, or too much waits to be taken by the client. */
  #isBodyPaused = false
  #isBacklogged = false
  /** What has come of requests that are held back; null: nothing. */
  #unread: ChunkQueue | null = null
  /** Ends the wait for a head that has begun, or for one that has not. */
  readonly #timer = new CoalescedTimer(() => this.#onTimeout())
  #awaitsHead = true

  constructor(socket: Socket, options: Http1ConnectionOptions) {
    this.socket = socket
    this.#options = options
    this.#parser = new RequestParser(this, () => options.getListenerConfig().requestLimits)
    this.#startHeadTimer()
    socket
      .on('data', (bytes: Buffer) => this.#onData(bytes))
      .on('end', () => this.#onEnd())
      .on('drain', () => this.#onDrain())
      .on('error', () => void socket.destroy()) // an error of TLS alone leaves it open
      .on('close', () => this.#onClose())
  }

  get keepAliveMs(): number {
    return this.#options.getListenerConfig().config.listen.timeouts.keepAlive
  }

  get #state(): ClientConnection {
    return getClientConnection(this.socket, this.#options.getListenerConfig())
  }

  pause(): void {
    this.#isBodyPaused = true
    this.#controlFlow()
  }

  resume(): void {
    if (!this.#isBodyPaused) return
    this.#isBodyPaused = false
    this.#controlFlow()
  }

  get holdsBack(): boolean {
    return this.#responses.length >= maxInFlight
  }

  head(message: RequestMessage): void {
    this.#timer.clear()
    this.#awaitsHead = false
    const state = this.#state
    // Behind the last request of a connection no further one is served (RFC 9112 §9.6).
    if (state.closing) return this.#parser.stop()
    const request = new Http1Request(message, this.socket, this)
    const response = new Http1Response(request, this)
    if (!request.complete) this.#current = request
    this.#responses.push(response)
    this.#begin(request, response)
    if (!request.isPersistent) state.closing = true
    if (!this.#hasBacklog) return
    this.#isBacklogged = true
    this.#controlFlow()
  }

  body(bytes: Buffer, from: number, to: number): void {
    // A smaller piece is copied: it would keep the memory of all that came with it. What is handed on may be freed:
    // only the last piece of a read takes its memory.
    const size = to - from
    const isLarge = to === bytes.length && size >= minFreeBytes && 2 * size >= bytes.buffer.byteLength
    this.#current?.receive(isLarge ? takeExclusively(bytes, from) : Buffer.from(bytes.subarray(from, to)))
  }

  end(): void {
    const request = this.#current
    this.#current = null
    if (request === null) return
    request.receive(null)
    if (this.#isBacklogged) this.#controlFlow()
    // Its response went out before all of it had come.
    if (this.#responses.length === 0 && !this.#state.closing) this.#onAllSent(request)
  }

  isHeadOfLine(response: Http1Response): boolean {
    return this.#responses[0] === response
  }

  onResponseSent(response: Http1Response): void {
    this.#responses.shift()
    const { request } = response
    if (!request.complete) request.discard()
    const [next] = this.#responses
    // One of HTTP/1.0 without a length ends the connection, though others may be due behind it.
    if (response.isLast || next?.destroyed) {
      this.#dropResponses()
      return this.#end(request, response.lingerMode)
    }
    if (next !== undefined) {
      next.onHeadOfLine()
      if (this.socket.readableEnded) probeHalfClosed(this.socket, next)
    }
    this.#relieve()
    if (this.#responses.length === 0 && !this.#state.closing) this.#onAllSent(request)
  }

  isFollowed(response: Http1Response): boolean {
    return this.#responses.at(-1) !== response
  }

  /** Closes it if no request is under way, nor has one begun. */
  closeIfIdle(): void {
    const isIdle = this.#responses.length === 0 && !this.#parser.isInRequest && !this.#state.closing
    if (isIdle) this.socket.destroy()
  }

  /** Waits for another request, unless the client or the listener has none for it. */
  #onAllSent(request: Http1Request): void {
    if (this.socket.readableEnded) return this.socket.destroySoon()
    if (this.#options.isClosing) return this.#end(request, 'long')
    if (this.#awaitsHead) return
    const { config, idleTimeoutMs } = this.#options.getListenerConfig()
    this.#timer.set(request.complete ? config.listen.timeouts.keepAlive + idleMarginMs : idleTimeoutMs)
  }

  get #hasBacklog(): boolean {
    let bytes = this.socket.writableLength
    for (const { queuedBytes } of this.#responses) bytes += queuedBytes
    return bytes >= this.socket.writableHighWaterMark
  }

  /**
   * Reads on, or holds the client back. One that sends requests and takes no responses has these held here: it is not
   * read from meanwhile. But a body that has begun is, since the time for it is running.
   */
  #controlFlow(): void {
    const isBehind = this.#isBacklogged || (this.#unread !== null && this.#unread.bytes >= maxUnreadBytes)
    if (this.#isBodyPaused || (isBehind && this.#current === null)) this.socket.pause()
    else this.socket.resume()
  }

  #relieve(): void {
    if (this.#isBacklogged) {
      if (this.#hasBacklog) return
      this.#isBacklogged = false
      this.#controlFlow()
      // It was not read from meanwhile, so its client was not slow.
      if (this.#awaitsHead) this.#startHeadTimer()
    }
    const unread = this.#unread
    if (unread === null || this.holdsBack) return
    this.#unread = null
    this.#onData(unread.take(Number.POSITIVE_INFINITY))
    this.#controlFlow()
    if (this.socket.readableEnded) this.#checkComplete()
  }

  #onDrain(): void {
    this.#responses[0]?.onDrain()
    this.#relieve()
  }

  /** Has a request served. What goes wrong with it is answered there: this is for what Fastify throws. */
  #begin(request: Http1Request, response: Http1Response): void {
    try {
      this.#options.onRequest(request, response)
    } catch (cause) {
      this.#options.clientErrors.reportUnparsed(this.#state.peer.address, new GatewayError('internal', { cause }))
      this.socket.destroy()
    }
  }

  #onData(bytes: Buffer): void {
    if (this.#unread !== null) return this.#holdBack(bytes)
    try {
      const length = this.#parser.read(bytes)
      if (length < bytes.length) return this.#holdBack(bytes.subarray(length))
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      return this.#fail(error, bytes)
    }
    if (!this.#parser.isInHead || this.#awaitsHead) return
    this.#awaitsHead = true
    if (!this.#isBacklogged) this.#startHeadTimer()
  }

  /** Leaves the requests behind those that are under way unread, until one of these has its response. */
  #holdBack(bytes: Buffer): void {
    this.#unread ??= new ChunkQueue()
    this.#unread.push(bytes)
    this.#controlFlow()
  }

  #startHeadTimer(): void {
    this.#timer.set(this.#options.getListenerConfig().config.listen.timeouts.headers)
  }

  /** Handles a request that cannot be read on: nothing that follows it is one. */
  #fail(failure: GatewayError, bytes: Buffer | null): void {
    const isHeadRequest = this.#parser.isInHead && this.#parser.method === 'HEAD'
    this.#timer.clear()
    this.#parser.stop()
    this.#unread = null
    this.resume()
    const current = this.#current
    // Its response has gone out: a second one would be taken for that to another request.
    if (current !== null && !this.#responses.some(({ request }) => request === current))
      return this.#state.closing ? undefined : this.#end(current, 'long')
    this.#options.clientErrors.onMalformed(this.#state, this.socket, failure, bytes, isHeadRequest)
  }

  /** Ends the connection. A client that is still sending can read what it was sent. */
  #end(request: Http1Request, mode: LingerMode): void {
    const { socket } = this
    this.#state.closing = true
    const { isStopped } = this.#parser
    if (request.complete && !isStopped && (!request.isPersistent || socket.readableEnded)) return socket.destroySoon()
    // Otherwise more may come than the request.
    if (!request.complete && !isStopped) request.onComplete = () => socket.destroy()
    destroyAfterLinger(socket, mode)
    socket.end()
    this.#isBacklogged = false // too much may have waited for a response that was cut
    this.#unread = null
    socket.resume()
  }

  #onEnd(): void {
    this.#checkComplete()
    const [response] = this.#responses
    if (response !== undefined) probeHalfClosed(this.socket, response)
    else if (!this.#state.closing) this.socket.end()
  }

  /** Rejects a request of which no more can come. */
  #checkComplete(): void {
    if (this.#parser.isInRequest) this.#fail(new GatewayError('bad-request', { reason: 'cut-short' }), null)
  }

  #onTimeout(): void {
    if (!this.#awaitsHead) return void this.socket.destroy()
    // To a client that has sent nothing, a 408 would be the response to its first request before that comes; RFC 9110
    // §15.5.9 leaves it out.
    if (hasReceivedNothing(this.socket)) return this.socket.destroySoon()
    this.#fail(new GatewayError('request-timeout', { reason: 'head-too-slow' }), null)
  }

  #onClose(): void {
    this.#timer.clear()
    this.#parser.stop()
    this.#dropResponses()
  }

  #dropResponses(): void {
    for (const response of this.#responses.splice(0)) response.onConnectionClosed()
  }
}
