import { constants, type ServerHttp2Stream } from 'node:http2'
import { Duplex } from 'node:stream'
import type { DownstreamResponse } from '../../../core/downstream/codec.ts'
import { getLingerMode, type LingerMode, linger } from '../../../core/downstream/listener/linger.ts'
import { getMaxBodyBytes } from '../../../core/downstream/request/active-request.ts'
import type { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { checkFields, fieldNameEquals, type HeaderFields } from '../../../core/exchange/header-fields.ts'
import { CoalescedTimer } from '../../../core/lib/clock.ts'
import type { StreamRequest } from './stream-request.ts'

// A client that reads nothing, or has gone, takes no RST_STREAM.
const resetFlushMs = 1000

// An upstream that sends interim responses for ever would fill the memory.
const maxInterims = 16

export class StreamResponse implements DownstreamResponse {
  statusCode = 200
  readonly isHeadOfLine = true
  readonly stream: ServerHttp2Stream
  readonly #request: StreamRequest
  writableEnded = false
  #bodiless = false
  #interimCount = 0
  #lingerMode: LingerMode = 'long'
  readonly #closeListeners: (() => void)[] = []

  constructor(request: StreamRequest) {
    this.stream = request.stream
    this.#request = request
    this.stream.destroy = destroyOnceWritten
    this.stream.close = closeOnceEnded
    this.stream.on('error', () => {}) // `close` follows, and is handled
    this.stream.on('close', () => this.#notifyClosed())
  }

  get headersSent(): boolean {
    return this.stream.headersSent
  }

  get destroyed(): boolean {
    return this.stream.destroyed || this.stream.closed
  }

  /** A reset stream emits `finish` too, and one closed right behind its last frame does not. */
  get writableFinished(): boolean {
    const { aborted, rstCode, writableFinished } = this.stream
    return this.writableEnded && !aborted && (rstCode === constants.NGHTTP2_NO_ERROR || writableFinished)
  }

  get writableLength(): number {
    return this.stream.writableLength
  }

  get isFlushed(): boolean {
    return this.stream.writableFinished
  }

  /** Throws for a status above 599, two values of a single-value field, or control characters. */
  writeFields(status: number, _reason: string, fields: HeaderFields): void {
    const list: (string | number)[] = [':status', status]
    // RFC 9110 §15.3.6: a 205 has no content, and Node ends the stream with its head.
    let bodiless = status === 204 || status === 205 || status === 304 || this.#request.method === 'HEAD'
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      const value = fields[i + 1] as string
      if (status === 205 && fieldNameEquals(name, 'content-length')) continue
      list.push(name, value)
      // An empty last frame would wait for a client whose window is shut.
      if (value === '0' && fieldNameEquals(name, 'content-length')) bodiless = true
    }
    checkFields(fields)
    // A flat list keeps order and repetitions; Node's types know only objects. Node lowercases names (RFC 9113 §8.2).
    this.stream.respond(list as never, { endStream: bodiless })
    this.#bodiless = bodiless
    this.statusCode = status
  }

  writeInterim(status: number, fields: HeaderFields): void {
    if (this.destroyed || this.headersSent || this.#interimCount++ >= maxInterims) return
    checkFields(fields)
    const named: Record<string, string | number | string[]> = Object.assign(Object.create(null), { ':status': status })
    for (let i = 0; i < fields.length; i += 2) {
      const name = (fields[i] as string).toLowerCase()
      const value = fields[i + 1] as string
      const values = named[name]
      if (values === undefined) named[name] = [value]
      else if (Array.isArray(values)) values.push(value)
    }
    this.stream.additionalHeaders(named)
  }

  /** GOAWAY ends the connection when nothing is under way. */
  markLast(failure: GatewayError | null): void {
    this.#lingerMode = getLingerMode(failure)
  }

  reset(): void {
    // `close` would end the stream first, and the part would look whole.
    this.stream.destroy(new Error('cut off'))
  }

  writeContinue(onSent: () => void): void {
    if (!this.destroyed && !this.headersSent) this.stream.additionalHeaders({ ':status': 100 })
    onSent()
  }

  flushHead(): void {} // HEADERS are out

  write(chunk: Buffer, onFlushed?: (error?: Error | null) => void): boolean {
    return this.#bodiless || this.destroyed ? true : this.stream.write(chunk, onFlushed)
  }

  end(body?: Buffer | string): void {
    this.writableEnded = true
    if (this.destroyed) return
    if (!this.#request.complete) {
      if (this.stream.writableFinished) this.#linger()
      else this.stream.once('finish', () => this.#linger())
    }
    if (!this.#bodiless) this.stream.end(body, 'latin1')
    else if (!this.stream.writableEnded) this.stream.end()
  }

  on(event: 'close' | 'drain' | 'finish', listener: () => void): this {
    if (event === 'close') this.#closeListeners.push(listener)
    else this.stream.on(event, listener)
    return this
  }

  /**
   * As `Http2Response` does: RST_STREAM comes last, since h2 (httpx) and Java 17 discard the response at RST_STREAM.
   */
  #linger(): void {
    const { stream } = this
    // Node keeps the stream, and the connection of a client that leaves, until its bytes are read.
    if (stream.closed) return this.#request.discard()
    let received = 0
    stream.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    this.#request.discard()
    const flushTimer = new CoalescedTimer(() => void Duplex.prototype.destroy.call(stream))
    const end = (): void => {
      stream.close(constants.NGHTTP2_NO_ERROR)
      flushTimer.set(resetFlushMs)
    }
    const stopLinger = linger(this.#lingerMode, getMaxBodyBytes(this.#request.socket), () => received, end)
    stream.once('close', () => {
      stopLinger()
      flushTimer.clear()
    })
    this.#notifyClosed()
  }

  #notifyClosed(): void {
    for (const listener of this.#closeListeners.splice(0)) listener()
  }
}

/**
 * Amid the write of the last frame, Node destroys a stream whose request is read, which costs an error with a stack.
 * Node calls this again when the write is done.
 */
function destroyOnceWritten(this: ServerHttp2Stream, error?: Error): ServerHttp2Stream {
  const writing = error === undefined && !this.writableFinished && this.session?.destroyed === false
  // A stream that the client has reset, with any code, may never end.
  if (!writing || this.state.localClose !== 1) Duplex.prototype.destroy.call(this, error)
  return this
}

/**
 * Node closes a stream without unread input when its last bytes are written. Where these fill the client's window,
 * END_STREAM still waits, and the client would get RST_STREAM instead (RFC 9113 §8.1).
 */
function closeOnceEnded(this: ServerHttp2Stream, code?: number, callback?: () => void): void {
  const isEnding = code === undefined && this.session?.destroyed === false && !this.destroyed
  if (!isEnding || this.state.localClose === 1) Object.getPrototypeOf(this).close.call(this, code, callback)
}
