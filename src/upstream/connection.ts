import type { Socket } from 'node:net'
import { type buildConnector, Client, type Dispatcher } from 'undici'
import { now } from '../clock.ts'
import { type AwaitedResponse, easeResponseStart } from './response-start.ts'
import { isSilent, longestMarginMs, restMs, reusableMs } from './reuse.ts'

// Most bytes of an answer's head: twice what a request may have.
const maxAnswerHeaderBytes = 64 * 1024

/** Is a dispatch handler that is told what it is sent on. */
export interface EndpointHandler extends Dispatcher.DispatchHandler {
  /** The connection that it was given to. */
  connection: Connection | null
  onResponseError(controller: Dispatcher.DispatchController | null, error: Error): void
}

interface Line extends AwaitedResponse {
  socket: Socket | null
  /** Requests that it has begun to carry. */
  begun: number
  /** What had been read from it when the last of them began. */
  readBefore: number
  /** Since when the endpoint has waited for another request: the last response has ended, or the connection was made. */
  restsSince: number
}

/** Is a keep-alive connection to an endpoint, one request at a time. */
export class Connection extends Client {
  /** Is told when it may carry another request; null: it is for one alone. */
  onFree: (() => void) | null = null
  #busy = false
  readonly #reusableMs: number
  readonly #line: Line

  /** `keepAliveMs` is how long it may be idle, the margin included. 0: it is for one request alone. */
  constructor(origin: string, connect: buildConnector.connector, keepAliveMs: number) {
    const line: Line = { socket: null, begun: 0, readBefore: 0, restsSince: 0, awaited: false }
    const keepAliveTimeout = reusableMs(Math.max(keepAliveMs, 1))
    super(origin, {
      allowH2: false,
      pipelining: keepAliveMs === 0 ? 0 : 1, // 0 is undici's way to say `Connection: close`
      keepAliveTimeout,
      keepAliveMaxTimeout: keepAliveTimeout,
      // Of the time that an answer's own Keep-Alive field names.
      keepAliveTimeoutThreshold: longestMarginMs,
      maxHeaderSize: maxAnswerHeaderBytes,
      // The gateway keeps its own time (exact, and aware of who is waiting for whom).
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (wanted, callback) =>
        connect(wanted, (...result) => {
          line.socket = result[1] as Socket | null
          line.begun = 0
          line.restsSince = now()
          line.socket?.on('error', stayRecoverable)
          if (line.socket !== null) easeResponseStart(line.socket, line)
          callback(...result)
        }),
    })
    this.#reusableMs = keepAliveTimeout
    this.#line = line
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: EndpointHandler): boolean {
    handler.connection = this
    this.#busy = true
    return super.dispatch(options, handler)
  }

  /** Whether it has a request, which it may still have to connect for. */
  get busy(): boolean {
    return this.#busy
  }

  /** Is told by its request that it is over, and whether another one can follow. */
  settle(reusable: boolean): void {
    this.#busy = false
    if (reusable) this.onFree?.()
  }

  /** Is told by its request that its response has come to its end. */
  finish(): void {
    this.#line.restsSince = now()
    this.settle(true)
  }

  /** Notes that a request begins. */
  begin(): void {
    const line = this.#line
    line.begun++
    line.awaited = true
    line.readBefore = line.socket?.bytesRead ?? 0
  }

  /** Tells whether there is a connection. */
  get isOpen(): boolean {
    return this.#line.socket?.destroyed === false
  }

  /** Tells whether another request may go out on it, as far as the event loop knows. undici's timer, which closes it, may be late. */
  get isReusable(): boolean {
    return this.isOpen && now() - this.#line.restsSince < this.#reusableMs
  }

  /** Looks, just before a request is written, whether the endpoint has ended it; then it is closed here too. */
  hasEnded(): boolean {
    const { socket, restsSince } = this.#line
    if (socket === null || now() - restsSince < restMs || isSilent(socket)) return false
    socket.destroy()
    return true
  }

  /** Tells whether all that was to be written has been taken. */
  get hasWritten(): boolean {
    return this.#line.socket?.writableLength === 0
  }

  /** Tells whether its last request went out on a connection that had carried one before, and nothing came back. */
  get wasStale(): boolean {
    const { begun, socket, readBefore } = this.#line
    return begun > 1 && socket !== null && socket.bytesRead === readBefore
  }
}

/**
 * Keeps a request from failing that is about to go out when its idle connection is reset: nothing was sent, and undici connects anew for it,
 * but only after an error of its own code.
 */
const stayRecoverable = (error: NodeJS.ErrnoException): void => {
  if (error.code === 'UPSTREAM_RESET') error.code = 'UND_ERR_SOCKET'
}
