import type { DownstreamResponse } from '../../core/downstream/codec.ts'
import { maxWaitingPieces } from '../../core/downstream/http2/connection-memory.ts'
import type { Http2Connection } from '../../core/downstream/http2/http2-connection.ts'
import { errorCodes } from '../../core/downstream/http2/http2-error.ts'
import type { OnFlushed, Stream, StreamEvents } from '../../core/downstream/http2/stream.ts'
import { getLingerMode, type LingerMode, linger } from '../../core/downstream/listener/linger.ts'
import { getMaxBodyBytes } from '../../core/downstream/request/active-request.ts'
import type { GatewayError } from '../../core/exchange/failures/errors.ts'
import { checkFields, fieldNameEquals, type HeaderFields } from '../../core/exchange/header-fields.ts'
import { maxWaitingBytes } from '../../core/lib/buffers.ts'
import type { Http2Request } from './http2-request.ts'

// An upstream that sends interim responses for ever would fill the memory.
const maxInterims = 16

const noFields: HeaderFields = []

export class Http2Response implements DownstreamResponse, StreamEvents {
  statusCode = 200
  readonly isHeadOfLine = true
  headersSent = false
  destroyed = false
  writableEnded = false
  writableFinished = false
  readonly #connection: Http2Connection
  readonly #request: Http2Request
  readonly #stream: Stream
  #isBodiless = false
  #interimCount = 0
  #lingerMode: LingerMode = 'long'
  #stopLinger: (() => void) | null = null
  readonly #closeListeners: (() => void)[] = []
  readonly #drainListeners: (() => void)[] = []
  readonly #finishListeners: (() => void)[] = []

  constructor(connection: Http2Connection, stream: Stream, request: Http2Request) {
    this.#connection = connection
    this.#stream = stream
    this.#request = request
    stream.events = this
  }

  get fault(): string | null {
    return this.#stream.fault
  }

  get writableLength(): number {
    return this.#stream.queuedBytes
  }

  get isFlushed(): boolean {
    return this.writableFinished
  }

  /** Throws for a status above 599, and for control characters. */
  writeFields(status: number, _reason: string, fields: HeaderFields): void {
    if (status > 599) throw new RangeError(`the status ${status}, which HTTP/2 does not know`)
    const sent: string[] = []
    // RFC 9110 §15.3.6: a 205 has no content.
    let isBodiless = status === 204 || status === 205 || status === 304 || this.#request.method === 'HEAD'
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      const value = fields[i + 1] as string
      if (status === 205 && fieldNameEquals(name, 'content-length')) continue
      sent.push(name, value)
      // An empty last frame would wait for a client whose window is shut.
      if (value === '0' && fieldNameEquals(name, 'content-length')) isBodiless = true
    }
    checkFields(sent)
    this.#isBodiless = isBodiless
    this.statusCode = status
    this.headersSent = true
    this.#connection.sendHead(this.#stream, String(status), sent)
    if (isBodiless) this.#connection.endResponse(this.#stream)
  }

  writeInterim(status: number, fields: HeaderFields): void {
    if (this.destroyed || this.headersSent || this.#interimCount++ >= maxInterims) return
    // Interim responses would pile up for a client that takes nothing.
    if (!this.#connection.flushesNow(this.#stream)) return
    checkFields(fields)
    this.#connection.sendHead(this.#stream, String(status), fields)
  }

  /** GOAWAY ends the connection when nothing is under way. */
  markLast(failure: GatewayError | null): void {
    this.#lingerMode = getLingerMode(failure)
  }

  flushHead(): void {} // at the end of the turn

  write(chunk: Buffer, onFlushed?: OnFlushed): boolean {
    if (this.#isBodiless || this.destroyed || chunk.length === 0) {
      if (onFlushed !== undefined) process.nextTick(onFlushed)
      return true
    }
    this.#connection.sendData(this.#stream, chunk, onFlushed)
    return this.#stream.queuedBytes < maxWaitingBytes && this.#stream.pieces.length < maxWaitingPieces
  }

  end(body?: Buffer | string): void {
    this.writableEnded = true
    if (this.destroyed || this.#isBodiless) return
    if (body !== undefined && body.length > 0) this.#connection.sendData(this.#stream, body)
    this.#connection.endResponse(this.#stream)
  }

  writeContinue(onSent: () => void): void {
    if (!this.destroyed && !this.headersSent) this.#connection.sendHead(this.#stream, '100', noFields)
    onSent()
  }

  /** RST_STREAM without END_STREAM: a part must not look whole. */
  reset(): void {
    this.#connection.reset(this.#stream, errorCodes.internalError)
  }

  on(event: 'close' | 'drain' | 'finish', listener: () => void): this {
    const listeners = { close: this.#closeListeners, drain: this.#drainListeners, finish: this.#finishListeners }
    listeners[event].push(listener)
    return this
  }

  onData(piece: Buffer): void {
    this.#request.receive(piece)
  }

  onRequestEnd(): void {
    this.#request.receiveEnd()
  }

  onDrain(): void {
    for (const listener of this.#drainListeners) listener()
  }

  onSent(): void {
    this.writableFinished = true
    for (const listener of this.#finishListeners) listener()
    if (!this.#request.complete) this.#linger()
  }

  onClose(): void {
    this.destroyed = true
    this.#stopLinger?.()
    this.#notifyClosed()
  }

  /**
   * RFC 9113 §8.1 allows RST_STREAM for a request that is not needed, but curl, h2 (httpx) and Java 17 then discard the
   * response. So RST_STREAM comes last, for clients that send for too long.
   */
  #linger(): void {
    const end = (): void => this.#connection.reset(this.#stream, errorCodes.noError)
    const received = (): number => this.#request.receivedBytes
    this.#stopLinger = linger(this.#lingerMode, getMaxBodyBytes(this.#request.socket), received, end)
    this.#request.discard()
    this.#notifyClosed()
  }

  #notifyClosed(): void {
    for (const listener of this.#closeListeners.splice(0)) listener()
  }
}
