import type { OnReadOpts, Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { ReadBuffer } from '../../lib/buffers.ts'
import { CoalescedTimer, now } from '../../lib/clock.ts'
import { batchWrite } from '../../lib/turn-writes.ts'
import { connectFailedError, toGatewayError } from '../classify-error.ts'
import { type Connector, checkAfterIdleMs, isSilent, maxReuseMarginMs, reusableMs } from './connector.ts'
import { type ResponseEvents, ResponseParser } from './response-parser.ts'
import { deferWriteErrors, type RequestContent, writeRequest } from './write-request.ts'

/** Exactly one of `onEnd` and `onError` is called, last. */
export interface ResponseHandler {
  /** For a POST: never sent twice, nor on a connection that the endpoint has closed. */
  readonly isSentOnce: boolean
  readonly isLast: boolean
  onInterim(status: number, fields: string[]): void
  onHead(status: number, reason: string, fields: string[]): void
  onBody(chunk: Buffer): void
  onEnd(): void
  onError(error: GatewayError): void
}

export interface ConnectionWaiter {
  onConnection(connection: UpstreamConnection): boolean
  onError(error: GatewayError): void
}

export interface ConnectionOwner {
  onReleased(connection: UpstreamConnection): void
  onClosed(connection: UpstreamConnection): void
}

type FindOwner = (address: string | null) => ConnectionOwner

export class UpstreamConnection implements ResponseEvents {
  isUnsent = false
  /** Null: the pool has not used the connection. */
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
  #mayFollow = false
  #idleMs: number
  #idleSince = 0
  #idleForMs = 0
  readonly #readBuffer = new ReadBuffer()

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

  get isOpen(): boolean {
    return this.#waiter === null && !this.#socket.destroyed
  }

  get hasWritten(): boolean {
    return !this.#isUploading && this.#socket.writableLength === 0
  }

  get isStale(): boolean {
    return this.#requestCount > 1 && !this.#parser.hasStarted
  }

  /** Over TLS a cut response may look whole. Over plain TCP, an end without a reset completes it (RFC 9112 §8). */
  get mayBeCut(): boolean {
    return this.#parser.isUntilClose && this.#socket instanceof TLSSocket
  }

  tryReuse(): boolean {
    this.#idleTimer.clear()
    this.#idleForMs = now() - this.#idleSince
    if (this.#idleForMs >= this.#idleMs) this.#socket.destroy()
    return this.isOpen
  }

  markIdle(): void {
    this.#idleTimer.set(this.#idleMs)
  }

  send(handler: ResponseHandler, head: string, body: RequestContent, length: number | null): void {
    this.#handler = handler
    this.isUnsent = true
    this.#headReceived = false
    // By the next turn, bytes behind the previous response (e.g. in another TLS record) have been read, so they cannot
    // be taken for the response to this request (RFC 9112 §9.2).
    batchWrite(() => {
      if (this.#handler !== handler) return
      if (handler.isSentOnce && this.#idleForMs >= checkAfterIdleMs && !isSilent(this.#socket))
        return this.#fail(connectionClosedError())
      this.isUnsent = false
      this.#requestCount++
      this.#parser.awaitResponse()
      const isFinished = (): boolean => this.#handler !== handler
      const upload = writeRequest(this.#socket, head, body, length, handler.isSentOnce, isFinished)
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

  abort(): void {
    if (this.#handler === null) return
    this.#handler = null
    this.#release(false)
  }

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
    // RFC 9112 §9.3: an endpoint that responds early may read the rest of this request as the next one. A body that was
    // read first may still be in the socket.
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
    // After a reset the system reports a plain end, so a part would look whole.
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
      handler.onError(toGatewayError(thrown, this.isUnsent ? 'unsent' : this.#headReceived ? 'responded' : 'sent'))
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
