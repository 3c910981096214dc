import type { Socket } from 'node:net'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { minFreeBytes, takeExclusively } from '../../lib/buffers.ts'
import { CoalescedTimer } from '../../lib/clock.ts'
import { ChunkQueue } from '../body/chunk-queue.ts'
import type { ClientErrorHandler } from '../listener/client-error.ts'
import { destroyAfterLinger, type LingerMode } from '../listener/linger.ts'
import { type GetListenerConfig, hasReceivedNothing } from '../listener/listener-config.ts'
import { type ClientConnection, getClientConnection } from '../request/active-request.ts'
import { probeHalfClosed } from './half-closed.ts'
import { Http1Request } from './http1-request.ts'
import { Http1Response, type ResponseConnection } from './http1-response.ts'
import { type RequestEvents, type RequestMessage, RequestParser } from './request-parser.ts'

export interface Http1ConnectionOptions {
  readonly getListenerConfig: GetListenerConfig
  readonly clientErrors: ClientErrorHandler
  readonly onRequest: (request: Http1Request, response: Http1Response) => void
  readonly isClosing: boolean
}

// A client that follows `Keep-Alive: timeout` may send at the last moment.
const idleMarginMs = 1000
// One pipelining client must not take all places at an upstream. No known client pipelines more.
const maxInFlight = 4
// Read while requests are held back: the end of a connection shows only behind these bytes.
const maxUnreadBytes = 16 * 1024

export class Http1Connection implements RequestEvents, ResponseConnection {
  readonly socket: Socket
  readonly #options: Http1ConnectionOptions
  readonly #parser: RequestParser
  readonly #responses: Http1Response[] = []
  #current: Http1Request | null = null
  /** Why reading pauses: the body is not wanted yet, or the client takes its responses too slowly. */
  #isBodyPaused = false
  #isBacklogged = false
  #unread: ChunkQueue | null = null
  /** Limits the wait for a head, begun or not. */
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
      .on('error', () => void socket.destroy()) // an error of TLS leaves the socket open
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
    // RFC 9112 §9.6: no request is served after the last one of a connection.
    if (state.closing) return this.#parser.stop()
    const request = new Http1Request(message, this.socket, this)
    const response = new Http1Response(request, this)
    if (!request.complete) this.#current = request
    this.#responses.push(response)
    try {
      this.#options.onRequest(request, response)
    } catch (cause) {
      // An exception of Fastify: the handler catches all others.
      this.#options.clientErrors.reportUnparsed(state.peer.address, new GatewayError('internal', { cause }))
      this.socket.destroy()
    }
    if (!request.isPersistent) state.closing = true
    if (!this.#hasBacklog) return
    this.#isBacklogged = true
    this.#controlFlow()
  }

  body(bytes: Buffer, from: number, to: number): void {
    // The consumer keeps a large last piece of a read with all its memory, and copies other pieces.
    const size = to - from
    const isLarge = to === bytes.length && size >= minFreeBytes && 2 * size >= bytes.buffer.byteLength
    this.#current?.receive(isLarge ? takeExclusively(bytes, from) : bytes.subarray(from, to))
  }

  end(): void {
    const request = this.#current
    this.#current = null
    if (request === null) return
    request.receive(null)
    if (this.#isBacklogged) this.#controlFlow()
    // The response went out before the whole request was received.
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
    // An HTTP/1.0 response without a length ends the connection, even with others due.
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

  closeIfIdle(): void {
    const isIdle = this.#responses.length === 0 && !this.#parser.isInRequest && !this.#state.closing
    if (isIdle) this.socket.destroy()
  }

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

  /** A client that takes no responses is not read, except for a body that has begun: its timeout runs. */
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
      // The gateway did not read meanwhile, so the client was not slow.
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

  #holdBack(bytes: Buffer): void {
    this.#unread ??= new ChunkQueue()
    this.#unread.push(bytes)
    this.#controlFlow()
  }

  #startHeadTimer(): void {
    this.#timer.set(this.#options.getListenerConfig().config.listen.timeouts.headers)
  }

  /** From here on, no byte can be parsed as a request. */
  #fail(failure: GatewayError, bytes: Buffer | null): void {
    const isHeadRequest = this.#parser.isInHead && this.#parser.method === 'HEAD'
    this.#timer.clear()
    this.#parser.stop()
    this.#unread = null
    this.resume()
    const current = this.#current
    // The client would take a second response for the one to another request.
    if (current !== null && !this.#responses.some(({ request }) => request === current))
      return this.#state.closing ? undefined : this.#end(current, 'long')
    this.#options.clientErrors.onMalformed(this.#state, this.socket, failure, bytes, isHeadRequest)
  }

  #end(request: Http1Request, mode: LingerMode): void {
    const { socket } = this
    this.#state.closing = true
    const { isStopped } = this.#parser
    if (request.complete && !isStopped && (!request.isPersistent || socket.readableEnded)) return socket.destroySoon()
    // Otherwise bytes beyond the request may come.
    if (!request.complete && !isStopped) request.onComplete = () => socket.destroy()
    destroyAfterLinger(socket, mode)
    socket.end()
    this.#isBacklogged = false // output of a cut response may remain
    this.#unread = null
    socket.resume()
  }

  #onEnd(): void {
    this.#checkComplete()
    const [response] = this.#responses
    if (response !== undefined) probeHalfClosed(this.socket, response)
    else if (!this.#state.closing) this.socket.end()
  }

  #checkComplete(): void {
    if (this.#parser.isInRequest) this.#fail(new GatewayError('bad-request', { reason: 'cut-short' }), null)
  }

  #onTimeout(): void {
    if (!this.#awaitsHead) return void this.socket.destroy()
    // RFC 9110 §15.5.9: a client that has sent nothing would take a 408 for its first response.
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
