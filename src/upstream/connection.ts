import type { OnReadOpts, Socket } from 'node:net'
import { Alarm, now } from '../clock.ts'
import { GatewayError } from '../failures/errors.ts'
import { gather } from '../shared/gather.ts'
import type { Connector } from './connect.ts'
import { hearOut } from './hear-out.ts'
import { ReadMemory } from './read-memory.ts'
import { type ResponseEvents, ResponseParser } from './response-parser.ts'
import { isSilent, longestMarginMs, restMs, reusableMs } from './reuse.ts'
import { brokeOff, connectFailed } from './why.ts'
import { type RequestContent, writeRequest } from './write-request.ts'

/** Hears what comes back for a request, in this order. Exactly one of `onEnd` and `onError` is called, last. */
export interface ResponseHandler {
  /** Whether the request must not go out on a connection that the endpoint has closed: it is never sent a second time. */
  readonly isSentOnce: boolean
  /** An interim response (102–199). */
  onInterim(status: number, fields: string[]): void
  /** The head of the final response; `fields` are the end-to-end ones. */
  onHead(status: number, reason: string, fields: string[]): void
  onBody(chunk: Buffer): void
  onEnd(): void
  onError(error: GatewayError): void
}

/** Waits for a connection. One of the two is called. */
export interface ConnectionUser {
  /** Takes the connection, to send on it at once; false: it is not wanted any more. */
  onConnection(connection: Connection): boolean
  onError(error: GatewayError): void
}

/** Keeps a connection between its requests. */
export interface ConnectionOwner {
  /** The connection carries nothing any more, and can carry another request if {@link Connection.isOpen}. */
  released(connection: Connection): void
  closed(connection: Connection): void
}

/** A keep-alive connection to an endpoint, one request at a time. */
export class Connection implements ResponseEvents {
  /** Whether nothing of its request has been written. */
  isUnsent = false
  readonly #owner: ConnectionOwner
  readonly #parser = new ResponseParser(this)
  readonly #socket: Socket
  readonly #idle = new Alarm(() => this.#socket.destroy())
  readonly #keepAliveMs: number
  #user: ConnectionUser | null
  #handler: ResponseHandler | null = null
  /** Whether more of the request is to come. */
  #uploading = false
  #failedWrite: Error | null = null
  /** Requests that it has begun to carry. */
  #served = 0
  #headSeen = false
  /** For how long it may be idle now. */
  #idleMs: number
  /** Since when the endpoint has waited for another request: the last response has ended, or the connection was made. */
  #idleSince = 0
  #restedMs = 0
  readonly #memory = new ReadMemory()

  /** Begins to connect, for `user`. `keepAliveMs` is how long it may be idle, the margin included. */
  constructor(connect: Connector, keepAliveMs: number, owner: ConnectionOwner, user: ConnectionUser) {
    this.#owner = owner
    this.#user = user
    this.#keepAliveMs = reusableMs(keepAliveMs)
    this.#idleMs = this.#keepAliveMs
    const onread: OnReadOpts = {
      buffer: this.#memory.next,
      callback: (length, bytes) => this.#read(bytes as Buffer, length),
    }
    this.#socket = connect((error) => this.#connected(error), onread)
    this.#socket.once('close', () => this.#closed())
  }

  /** Whether there is a connection, as far as the event loop knows. */
  get isOpen(): boolean {
    return this.#user === null && !this.#socket.destroyed
  }

  /** Whether all of the request has been taken by the system. */
  get hasWritten(): boolean {
    return !this.#uploading && this.#socket.writableLength === 0
  }

  /** Whether its request went out on a connection that had carried one before, and nothing came back. */
  get isStale(): boolean {
    return this.#served > 1 && !this.#parser.started
  }

  /** Takes it out of its rest; false: no other request can follow, and it is closed. */
  wake(): boolean {
    this.#idle.clear()
    this.#restedMs = now() - this.#idleSince
    // The timer that closes it may be late.
    if (this.#restedMs >= this.#idleMs) this.#socket.destroy()
    return this.isOpen
  }

  /** Waits for another request. */
  rest(): void {
    this.#idle.set(this.#idleMs)
  }

  /** Sends a request: a head without framing, and `length` bytes of a body that is streamed, null: chunked. */
  send(handler: ResponseHandler, head: string, body: RequestContent, length: number | null): void {
    this.#handler = handler
    this.isUnsent = true
    this.#headSeen = false
    // What has come behind the response before has been read by then, also in another record of TLS: it cannot pass
    // for the response to this request (RFC 9112 §9.2).
    gather(() => {
      if (this.#handler !== handler) return
      // An endpoint may have ended an idle connection, and the event loop does not know yet.
      if (handler.isSentOnce && this.#restedMs >= restMs && !isSilent(this.#socket)) return this.#fail(closed())
      this.isUnsent = false
      this.#served++
      this.#parser.begin()
      const isOver = (): boolean => this.#handler !== handler
      const upload = writeRequest(this.#socket, head, body, length, isOver)
      if (upload !== null) this.#follow(upload, isOver)
    })
  }

  pause(): void {
    this.#memory.isPaused = true
    this.#socket.pause()
  }

  resume(): void {
    if (!this.#memory.isPaused) return
    this.#memory.isPaused = false
    this.#socket.resume()
  }

  /** Ends what it carries, and the connection; its handler hears nothing more. */
  abort(): void {
    if (this.#handler === null) return
    this.#handler = null
    this.#release(false)
  }

  /** Ends the connection; what it carries fails. */
  destroy(reason: Error): void {
    if (this.#user === null) return this.#fail(reason)
    this.#socket.destroy()
    this.#connected(connectFailed(reason))
  }

  interim(status: number, fields: string[]): void {
    this.#handler?.onInterim(status, fields)
  }

  head(status: number, reason: string, fields: string[]): void {
    this.#headSeen = true
    this.#handler?.onHead(status, reason, fields)
  }

  body(bytes: Buffer, from: number, to: number): void {
    this.#handler?.onBody(this.#memory.take(bytes, from, to))
  }

  end(): void {
    const handler = this.#handler
    this.#handler = null
    try {
      handler?.onEnd()
    } finally {
      // A response may come before its request has been written (RFC 9112 §9.3): then nothing can follow.
      this.#release(this.#parser.reusable && this.#failedWrite === null && !this.#uploading)
    }
  }

  #read(bytes: Buffer, length: number): boolean {
    this.#memory.filled(bytes, length)
    try {
      this.#parser.read(bytes, length)
    } catch (error) {
      this.#fail(error)
    }
    return true
  }

  #connected(error: GatewayError | null): void {
    const user = this.#user
    if (user === null) return
    this.#user = null
    const socket = this.#socket
    if (error === null) {
      this.#idleSince = now()
      hearOut(socket, (failed) => {
        this.#failedWrite = failed
      })
      socket.on('error', (failed) => this.#fail(failed)).on('end', () => this.#ended())
      if (!user.onConnection(this)) this.#owner.released(this)
    } else {
      user.onError(error)
      this.#owner.released(this)
    }
  }

  /** The endpoint has ended its side. */
  #ended(): void {
    if (this.#handler === null) return void this.#socket.destroy()
    // After a reset the system tells of a plain end: then a part would pass for the whole.
    const isWhole = this.#failedWrite === null && this.#parser.finish()
    if (!isWhole) this.#fail(this.#failedWrite ?? closed())
  }

  #closed(): void {
    this.#idle.clear()
    this.#fail(closed())
    this.#owner.closed(this)
  }

  #fail(thrown: unknown): void {
    const handler = this.#handler
    this.#handler = null
    if (handler === null) return void this.#socket.destroy()
    try {
      handler.onError(brokeOff(thrown, this.isUnsent ? 'unsent' : this.#headSeen ? 'answered' : 'sent'))
    } finally {
      this.#release(false)
    }
  }

  /** Lets go of the request. */
  #release(isReusable: boolean): void {
    const { keepAliveMs } = this.#parser
    this.#idleMs = keepAliveMs === null ? this.#keepAliveMs : Math.min(this.#keepAliveMs, keepAliveMs - longestMarginMs)
    this.#idleSince = now()
    if (!isReusable || this.#idleMs <= 0) {
      this.#parser.stop()
      this.#socket.destroy()
    } else this.resume()
    this.#owner.released(this)
  }

  #follow(upload: Promise<boolean>, isOver: () => boolean): void {
    this.#uploading = true
    upload.then(
      (isWhole) => {
        if (isWhole) this.#uploading = false
      },
      (error) => {
        if (!isOver()) this.#fail(GatewayError.from(error))
      },
    )
  }
}

const closed = (): Error => Object.assign(new Error('the endpoint has closed the connection'), { code: 'EPIPE' })
