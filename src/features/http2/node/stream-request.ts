import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import { ChunkQueue } from '../../../core/downstream/body/chunk-queue.ts'
import type { BodyConsumer, DownstreamRequest, RequestTarget } from '../../../core/downstream/codec.ts'
import type { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { sliceBytes } from '../../../core/lib/buffers.ts'
import { validateStream } from '../validate-stream.ts'
import type { NodeBodyWindow, NodeReceiveWindows } from './receive-windows.ts'

/**
 * Holds unread chunks: Node would keep each as it came, and a one-byte chunk takes a hundred bytes there. To Node, each
 * chunk but the last is still on its way, so the client gets its window back when all are read.
 */
class StreamBody {
  ended = false
  readonly #stream: ServerHttp2Stream
  readonly #window: NodeBodyWindow
  readonly #push: (chunk: Buffer | null) => boolean
  readonly #buffered = new ChunkQueue()
  #isLast = false
  #isReading = false
  #hasPaused = false

  constructor(stream: ServerHttp2Stream, window: NodeBodyWindow) {
    this.#stream = stream
    this.#window = window
    this.#push = stream.push.bind(stream)
    stream.push = (chunk: Buffer | null) => this.#receive(chunk)
    // Before any data is requested: Node reports the end of an empty body at once, and once only.
    stream.on('end', () => {
      // Node ends the body of a stream that was reset, or whose length was wrong, like a whole one.
      this.ended = !stream.closed && !stream.destroyed
      if (stream.closed) stream.destroy()
    })
    // A client may reset with NO_ERROR: Node then waits for reads and writes that cannot come.
    stream.on('aborted', () => process.nextTick(() => stream.destroy()))
    stream.on('close', () => window.setPending(0))
  }

  onEnd(listener: () => void): void {
    if (this.ended) process.nextTick(listener)
    else
      this.#stream.on('end', () => {
        if (this.ended) listener()
      })
  }

  pause(): void {
    this.#isReading = false
    this.#hasPaused = true
    this.#stream.pause()
  }

  resume(): void {
    this.#isReading = true
    this.#stream.resume()
    // In the next tick: behind the chunks that Node itself holds.
    if (this.#buffered.bytes > 0) process.nextTick(() => this.#release())
  }

  /** Null: the end. False makes Node let the client wait. */
  #receive(chunk: Buffer | null): boolean {
    if (this.#buffered.bytes === 0 && (this.#isReading || chunk === null)) {
      if (chunk !== null) this.#reportConsumed(chunk)
      return this.#push(chunk)
    }
    if (chunk === null) this.#isLast = true
    else {
      this.#buffered.push(chunk)
      this.#reportPending()
    }
    return false
  }

  #release(): void {
    while (this.#isReading && this.#buffered.bytes > 0 && !this.#stream.destroyed) {
      // In slices, so that the consumer can pause between them.
      const chunk = this.#buffered.take(sliceBytes)
      this.#reportPending()
      // Before the first pause the body waited for a connection to the upstream, not for a slow reader.
      if (!this.#hasPaused) this.#reportConsumed(chunk)
      if (this.#buffered.bytes > 0) this.#stream.emit('data', chunk)
      else {
        this.#push(chunk)
        if (this.#isLast) this.#push(null)
      }
    }
  }

  /** Held here, or by Node if they came in the packet of the head. */
  #reportPending(): void {
    this.#window.setPending(this.#buffered.bytes + this.#stream.readableLength)
  }

  #reportConsumed(chunk: Buffer): void {
    // Bytes after the response are only discarded.
    if (!this.#stream.headersSent) this.#window.consumed(chunk.length)
  }
}

interface PseudoFields {
  method: string | undefined
  scheme: string | undefined
  path: string | undefined
  /** RFC 9113 §8.2.1. */
  hasOuterBlank: boolean
}

export class StreamRequest implements DownstreamRequest {
  readonly multiplexed = true
  readonly mayLackFields = true
  target: RequestTarget | null = null
  originalUrl: string | undefined = undefined
  url: string | undefined
  readonly method: string | undefined
  readonly scheme: string | undefined
  readonly headers = {}
  readonly httpVersion = '2.0'
  readonly httpVersionMajor = 2
  readonly rawHeaders: string[]
  readonly socket: Socket
  readonly stream: ServerHttp2Stream
  readonly #body: StreamBody | null
  #consumer: BodyConsumer | null = null
  #isDiscarded = false
  readonly #hasOuterBlank: boolean

  constructor(stream: ServerHttp2Stream, raw: readonly string[], socket: Socket, windows: NodeReceiveWindows) {
    const pseudoFields: PseudoFields = { method: undefined, scheme: undefined, path: undefined, hasOuterBlank: false }
    this.rawHeaders = toHttp1Fields(raw, pseudoFields, stream.endAfterHeaders)
    this.method = pseudoFields.method
    this.scheme = pseudoFields.scheme
    this.url = pseudoFields.path
    this.#hasOuterBlank = pseudoFields.hasOuterBlank
    this.socket = socket
    this.stream = stream
    this.#body = stream.endAfterHeaders ? null : new StreamBody(stream, windows.createBodyWindow())
    // Node need not wait for the end when the stream has closed.
    if (this.#body === null) stream.readable = false
  }

  get complete(): boolean {
    return this.#body === null || this.#body.ended
  }

  validate(): GatewayError | null {
    const { method, scheme } = this
    const target = this.originalUrl ?? this.url ?? ''
    return validateStream({ method, scheme, hasBadField: this.#hasOuterBlank, target })
  }

  consume(consumer: BodyConsumer): void {
    // A part must not look like the whole body.
    if (this.#isDiscarded) return
    this.#consumer = consumer
    this.stream.on('data', consumer)
    this.resume()
    this.#body?.onEnd(() => this.#consumer?.(null))
  }

  discard(): void {
    this.#isDiscarded = true
    if (this.#consumer !== null) this.stream.off('data', this.#consumer)
    this.#consumer = null
    this.resume()
  }

  pause(): void {
    this.#body?.pause()
  }

  resume(): void {
    this.#body?.resume()
  }

  destroy(): void {
    this.stream.destroy(new Error('unserved'))
  }
}

/**
 * RFC 9113 §8.3, §8.8. `:authority` becomes Host, and so does an equal `host` (§8.3.1; different ones are rejected);
 * the parts of a cookie become one field (§8.2.3); a body without a length is chunked.
 */
const toHttp1Fields = (raw: readonly string[], pseudoFields: PseudoFields, bodiless: boolean): string[] => {
  const fields: string[] = []
  let authority: string | null = null
  let cookieAt = -1
  let hasLength = false
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    if (isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(value.length - 1))) pseudoFields.hasOuterBlank = true
    if (name.charCodeAt(0) === colon) {
      if (name === ':method') pseudoFields.method = internMethod(value)
      else if (name === ':path') pseudoFields.path = value
      else if (name === ':scheme') pseudoFields.scheme = value
      else if (name === ':authority') {
        authority = value
        fields.push('host', value)
      }
    } else if (name === 'cookie' && cookieAt !== -1) {
      fields[cookieAt] += `; ${value}`
    } else if (name !== 'host' || value.toLowerCase() !== authority?.toLowerCase()) {
      fields.push(name, value)
      if (name === 'cookie') cookieAt = fields.length - 1
      else if (name === 'content-length') hasLength = true
    }
  }
  if (!bodiless && !hasLength) fields.push('transfer-encoding', 'chunked')
  return fields
}

// V8 would hash a string of nghttp2 at every lookup.
const internMethod = (method: string): string => (method === 'GET' ? 'GET' : method === 'POST' ? 'POST' : method)

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

const colon = 0x3a
