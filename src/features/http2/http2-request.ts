import type { Socket } from 'node:net'
import { ChunkQueue } from '../../core/downstream/body/chunk-queue.ts'
import type { BodyConsumer, DownstreamRequest, RequestTarget } from '../../core/downstream/codec.ts'
import type { Http2Connection } from '../../core/downstream/http2/http2-connection.ts'
import { errorCodes } from '../../core/downstream/http2/http2-error.ts'
import type { Stream } from '../../core/downstream/http2/stream.ts'
import type { GatewayError } from '../../core/exchange/failures/errors.ts'
import { sliceBytes } from '../../core/lib/buffers.ts'
import { validateStream } from './validate-stream.ts'

/** In the terms of HTTP/1 (decision 022). */
export class Http2Request implements DownstreamRequest {
  readonly multiplexed = true
  target: RequestTarget | null = null
  originalUrl: string | undefined = undefined
  url: string | undefined
  readonly method: string
  readonly headers = {}
  readonly httpVersion = '2.0'
  readonly httpVersionMajor = 2
  readonly rawHeaders: string[]
  readonly socket: Socket
  receivedBytes = 0
  readonly #connection: Http2Connection
  readonly #stream: Stream
  readonly #held: ChunkQueue
  #consumer: BodyConsumer | null = null
  #isPaused = false
  #isDiscarded = false
  #hasWaited = false
  /** The end has come, and the consumer does not know yet. */
  #isEndDue: boolean

  constructor(connection: Http2Connection, stream: Stream) {
    const { method, path, rawFields, contentLength } = stream.head
    this.#connection = connection
    this.#stream = stream
    this.#held = new ChunkQueue(contentLength)
    this.method = method
    this.url = path
    this.socket = connection.socket
    this.rawHeaders = rawFields
    this.#isEndDue = stream.hasRequestEnded
    if (contentLength === null && !stream.hasRequestEnded) rawFields.push('transfer-encoding', 'chunked')
  }

  get complete(): boolean {
    return this.#stream.hasRequestEnded
  }

  validate(): GatewayError | null {
    const { scheme, hasBadValue: hasBadField } = this.#stream.head
    return validateStream({ method: this.method, scheme, hasBadField, target: this.originalUrl ?? this.url ?? '' })
  }

  consume(consumer: BodyConsumer): void {
    // A part must not look like the whole body.
    if (this.#isDiscarded) return
    this.#consumer = consumer
    this.resume()
  }

  discard(): void {
    this.#isDiscarded = true
    this.#consumer = null
    this.#isPaused = false
    const { bytes } = this.#held
    this.#held.clear()
    this.#connection.readBody(this.#stream, bytes, true)
  }

  pause(): void {
    this.#isPaused = true
    this.#hasWaited = true
  }

  resume(): void {
    this.#isPaused = false
    // Not within the caller's turn.
    if (this.#held.bytes > 0 || this.#isEndDue) process.nextTick(() => this.#release())
  }

  destroy(): void {
    this.#connection.reset(this.#stream, errorCodes.internalError)
  }

  receive(piece: Buffer): void {
    this.receivedBytes += piece.length
    if (this.#isDiscarded) return this.#connection.readBody(this.#stream, piece.length, false)
    if (this.#consumer === null || this.#isPaused || this.#held.bytes > 0) return this.#held.push(piece)
    this.#connection.readBody(this.#stream, piece.length, false)
    this.#consumer(piece)
  }

  receiveEnd(): void {
    if (this.#consumer === null || this.#isPaused || this.#held.bytes > 0) this.#isEndDue = true
    else this.#consumer(null)
  }

  #release(): void {
    while (!this.#isPaused && this.#consumer !== null && this.#held.bytes > 0) {
      // In slices, so that the consumer can pause between them.
      const chunk = this.#held.take(sliceBytes)
      // Before the first pause the body waited for a connection to the upstream, not for a slow reader.
      this.#connection.readBody(this.#stream, chunk.length, this.#hasWaited)
      this.#consumer(chunk)
    }
    if (this.#isPaused || this.#consumer === null || !this.#isEndDue || this.#held.bytes > 0) return
    this.#isEndDue = false
    this.#consumer(null)
  }
}
