import type { OnReadOpts, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { ReadBuffer } from '../../lib/buffers.ts'
import { batchWrite, CoalescedTimer, now } from '../../lib/clock.ts'
import { connectFailedError, toGatewayError } from '../classify-error.ts'
import { type Connector, checkAfterIdleMs, isSilent, maxReuseMarginMs, reusableMs } from './connector.ts'
import { type ResponseEvents, ResponseParser } from './response-parser.ts'
import { deferWriteErrors, type RequestContent, writeRequest } from './write-request.ts'

/** Receives the response to a request, in this order. Exactly one of `onEnd` and `onError` is called, last. */
export interface ResponseHandler {
  /**
   * Whether the request must not go out on a connection that the endpoint has closed: it is never sent a second time.
   */
  readonly isSentOnce: boolean
  /** Whether no other request may follow on the connection. */
  readonly isLast: boolean
  /** An interim response (100–199). What it throws fails the request. */
  onInterim(status: number, fields: string[]): void
  /** The head of the final response; `fields` are the end-to-end ones. */
  onHead(status: number, reason: string, fields: string[]): void
  onBody(chunk: Buffer): void
  onEnd(): void
  onError(error: GatewayError): void
}

/** Waits for a connection. One of the two methods is called. */
export interface ConnectionWaiter {
  /** Takes the connection, to send on it at once; false: it is no longer wanted. */
  onConnection(connection: UpstreamConnection): boolean
  onError(error: GatewayError): void
}

/** Keeps a connection between its requests. */
export interface ConnectionOwner {
  /**
   * Called when the connection carries nothing any more. It can carry another request if {@link
   * UpstreamConnection.isOpen}.
   */
  onReleased(connection: UpstreamConnection): void
  onClosed(connection: UpstreamConnection): void
}

/** Returns the owner of a connection to this address; null: it is not made yet. */
type FindOwner = (address: string | null) => ConnectionOwner

/** A keep-alive connection to an endpoint, one request at a time. */
export class UpstreamConnection implements ResponseEvents {
  /** Whether nothing of its request has been written. */
  isUnsent = false
  /** How many of the pool's places the client of its request holds; null: it has carried none for a pool. */
  places: { running: number } | null = null
  #owner: ConnectionOwner
  readonly #parser = new ResponseParser(this)
  readonly #socket: Socket
  readonly #idleTimer = new CoalescedTimer(() => this.#socket.destroy())
  readonly #keepAliveMs: number
  #waiter: ConnectionWaiter | null
  #handler: ResponseHandler | null = null
  #isUploading = false
  #writeError: Error | null = null
  #requestCount = 0
  #headReceived = false
  /** Whether another request may follow on the connection, as far as the one that it carries decides that. */
  #mayFollow = false
  #idleMs: number
  /**
   * Since when the endpoint has waited for another request: the last response has ended, or the connection was made.
   */
  #idleSince = 0
  #idleForMs = 0
  readonly #readBuffer = new ReadBuffer()

  /** Begins to connect, for `waiter`. `keepAliveMs` is how long it may be idle, the margin included. */
  constructor(connect: Connector, keepAliveMs: number, findOwner: FindOwner, waiter: ConnectionWaiter) {
    this.#owner = findOwner(null)
    this.#waiter = waiter
    this.#keepAliveMs = reusableMs(keepAliveMs)
    this.#idleMs = this.#keepAliveMs
    const onread: OnReadOpts = {
      buffer: this.#readBuffer.next,
      callback: (length, bytes) => this.#onRead(bytes as Buffer, length),
    }
    this.#socket = connect((error, socket) => {
      this.#owner = findOwner(socket?.remoteAddress ?? null)
      this.#onConnected(error)
    }, onread)
    this.#socket.once('close', () => this.#onSocketClose())
  }

  /** Whether there is a connection, as far as the event loop knows. */
  get isOpen(): boolean {
    return this.#waiter === null && !this.#socket.destroyed
  }

  /** Whether all of the request has been taken by the system. */
  get hasWritten(): boolean {
    return !this.#isUploading && this.#socket.writableLength === 0
  }

  /** Whether its request went out on a connection that had carried one before, and nothing came back. */
  get isStale(): boolean {
    return this.#requestCount > 1 && !this.#parser.hasStarted
  }

  /**
   * After the head: whether a response that is cut cannot be told from a whole one. Over plain TCP the end of the
   * connection completes it, unless that is a reset (RFC 9112 §8).
   */
  get mayBeCut(): boolean {
    return this.#parser.isUntilClose && this.#socket instanceof TLSSocket
  }

  /** Ends its idle time; false: no other request can follow, and it is closed. */
  tryReuse(): boolean {
    this.#idleTimer.clear()
    this.#idleForMs = now() - this.#idleSince
    // The timer that closes it may be late.
    if (this.#idleForMs >= this.#idleMs) this.#socket.destroy()
    return this.isOpen
  }

  markIdle(): void {
    this.#idleTimer.set(this.#idleMs)
  }

  /** Sends a request: a head without framing, and `length` bytes of a body that is streamed, null: chunked. */
  send(handler: ResponseHandler, head: string, body: RequestContent, length: number | null): void {
    this.#handler = handler
    this.isUnsent = true
    this.#headReceived = false
    // Bytes behind the previous response have been read by then, also in another record of TLS: they cannot pass for
    // the response to this request (RFC 9112 §9.2).
    batchWrite(() => {
      if (this.#handler !== handler) return
      // An endpoint may have ended an idle connection before the event loop knows.
      if (handler.isSentOnce && this.#idleForMs >= checkAfterIdleMs && !isSilent(this.#socket))
        return this.#fail(connectionClosedError())
      this.isUnsent = false
      this.#requestCount++
      this.#parser.awaitResponse()
      const isFinished = (): boolean => this.#handler !== handler
      const upload = writeRequest(this.#socket, head, body, length, isFinished)
      if (upload !== null) this.#trackUpload(upload, isFinished)
    })
  }

  pause(): void {
    this.#readBuffer.isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#readBuffer.isPaused) return
    this.#readBuffer.isPaused = false
    this.#socket.resume()
  }

  /** Ends the request that it carries, and the connection; the handler is not called again. */
  abort(): void {
    if (this.#handler === null) return
    this.#handler = null
    this.#release(false)
  }

  /** Ends the connection; the request that it carries fails. */
  destroy(reason: Error): void {
    if (this.#waiter === null) return this.#fail(reason)
    this.#socket.destroy()
    this.#onConnected(connectFailedError(reason))
  }

  interim(status: number, fields: string[]): void {
    this.#handler?.onInterim(status, fields)
  }

  head(status: number, reason: string, fields: string[]): void {
    this.#headReceived = true
    // An endpoint that responds before it has the whole request (RFC 9112 §9.3) may take the rest for the next one. A
    // body that was read first waits in the socket, where the endpoint reads no more of it.
    const isWritten = !this.#isUploading && !this.#socket.writableNeedDrain
    this.#mayFollow = isWritten && this.#handler?.isLast === false
    this.#handler?.onHead(status, reason, fields)
  }

  body(bytes: Buffer, from: number, to: number): void {
    this.#handler?.onBody(this.#readBuffer.slice(bytes, from, to))
  }

  end(): void {
    const handler = this.#handler
    this.#handler = null
    try {
      handler?.onEnd()
    } finally {
      this.#release(this.#parser.isReusable && this.#writeError === null && this.#mayFollow)
    }
  }

  #onRead(bytes: Buffer, length: number): boolean {
    this.#readBuffer.onRead(bytes, length)
    try {
      this.#parser.read(bytes, length)
    } catch (error) {
      this.#fail(error)
    }
    return true
  }

  #onConnected(error: GatewayError | null): void {
    const waiter = this.#waiter
    if (waiter === null) return
    this.#waiter = null
    const socket = this.#socket
    if (error === null) {
      this.#idleSince = now()
      deferWriteErrors(socket, (failed) => {
        this.#writeError = failed
      })
      socket.on('error', (failed) => this.#fail(failed)).on('end', () => this.#onSocketEnd())
      if (!waiter.onConnection(this)) this.#owner.onReleased(this)
    } else {
      waiter.onError(error)
      this.#owner.onReleased(this)
    }
  }

  #onSocketEnd(): void {
    if (this.#handler === null) return void this.#socket.destroy()
    // After a reset the system reports a plain end: a part would pass for the whole.
    const isWhole = this.#writeError === null && this.#parser.finish()
    if (!isWhole) this.#fail(this.#writeError ?? connectionClosedError())
  }

  #onSocketClose(): void {
    this.#idleTimer.clear()
    this.#fail(connectionClosedError())
    this.#owner.onClosed(this)
  }

  #fail(thrown: unknown): void {
    const handler = this.#handler
    this.#handler = null
    if (handler === null) return void this.#socket.destroy()
    try {
      handler.onError(toGatewayError(thrown, this.isUnsent ? 'unsent' : this.#headReceived ? 'answered' : 'sent'))
    } finally {
      this.#release(false)
    }
  }

  #release(isReusable: boolean): void {
    const { keepAliveMs } = this.#parser
    this.#idleMs =
      keepAliveMs === null ? this.#keepAliveMs : Math.min(this.#keepAliveMs, keepAliveMs - maxReuseMarginMs)
    this.#idleSince = now()
    if (!isReusable || this.#idleMs <= 0) {
      this.#parser.stop()
      this.#socket.destroy()
    } else this.resume()
    this.#owner.onReleased(this)
  }

  #trackUpload(upload: Promise<boolean>, isFinished: () => boolean): void {
    this.#isUploading = true
    upload.then(
      (isWhole) => {
        if (isWhole) this.#isUploading = false
      },
      (error) => {
        if (!isFinished()) this.#fail(GatewayError.from(error))
      },
    )
  }
}

const connectionClosedError = (): Error =>
  Object.assign(new Error('the endpoint has closed the connection'), { code: 'EPIPE' })
