import type { ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { BodyConsumer, DownstreamRequest, RequestTarget } from '../../core/downstream/codec.ts'
import { rejectTunnel } from '../../core/downstream/http1/request-line.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import { knownMethods } from '../../core/exchange/node-http.ts'
import type { ReceiveWindows } from './receive-windows.ts'
import { StreamBody } from './stream-body.ts'

/** The pseudo-fields of a request, and what is to be said of all of its fields. */
interface PseudoFields {
  method: string | undefined
  scheme: string | undefined
  path: string | undefined
  /** Whether a field, of any kind, begins or ends with a blank (RFC 9113 §8.2.1). */
  hasOuterBlank: boolean
}

/**
 * The request of one stream, in the terms of HTTP/1 (RFC 9113 §8.3, §8.8): the rest of the gateway reads it as any
 * other.
 */
export class StreamRequest implements DownstreamRequest {
  readonly multiplexed = true
  target: RequestTarget | null = null
  originalUrl: string | undefined = undefined
  url: string | undefined
  readonly method: string | undefined
  readonly scheme: string | undefined
  /** The fields that Fastify reads: none. */
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

  constructor(stream: ServerHttp2Stream, raw: readonly string[], socket: Socket, windows: ReceiveWindows) {
    const pseudoFields: PseudoFields = { method: undefined, scheme: undefined, path: undefined, hasOuterBlank: false }
    this.rawHeaders = toHttp1Fields(raw, pseudoFields, stream.endAfterHeaders)
    this.method = pseudoFields.method
    this.scheme = pseudoFields.scheme
    this.url = pseudoFields.path
    this.#hasOuterBlank = pseudoFields.hasOuterBlank
    this.socket = socket
    this.stream = stream
    this.#body = stream.endAfterHeaders ? null : new StreamBody(stream, windows.createBodyWindow())
    // Nothing is to be read: Node need not wait for its end when the stream has closed.
    if (this.#body === null) stream.readable = false
  }

  get complete(): boolean {
    return this.#body === null || this.#body.ended
  }

  validate(): GatewayError | null {
    // RFC 9113 §8.5: CONNECT has neither scheme nor path. Extended CONNECT is never offered (RFC 8441).
    const tunnel = rejectTunnel(this.method)
    if (tunnel !== null) return tunnel
    // Any other method is rejected here as it is on HTTP/1, and the client is not told which to use. Only TLS carries
    // it.
    if (this.scheme !== 'https' || !knownMethods.has(this.method))
      return new GatewayError('bad-request', { reason: 'bad-pseudo-field' })
    if (this.#hasOuterBlank) return new GatewayError('bad-request', { reason: 'bad-field' })
    // nghttp2 lets bytes through that have to be encoded (RFC 3986 §2), as the parser of HTTP/1 does not.
    return isEncoded.test(this.originalUrl ?? this.url ?? '')
      ? null
      : new GatewayError('bad-request', { reason: 'bad-target' })
  }

  consume(consumer: BodyConsumer): void {
    // A part of it is gone: it must not pass for the whole.
    if (this.#isDiscarded) return
    this.#consumer = consumer
    this.stream.on('data', consumer)
    this.resume()
    this.#body?.onEnd(() => this.#consumer?.(null))
  }

  /** Leaves the rest of its body unread, as it comes: its exchange is over. */
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
 * Converts the fields to those of HTTP/1. `:authority` becomes Host, and so does `host` where it says the same (RFC
 * 9113 §8.3.1: else there are two, which are rejected); the crumbs of a cookie become one field (§8.2.3); a body
 * without a length is chunked.
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

// A string from nghttp2 is memory of its own: to look it up, in a Map or as a member, V8 has to hash it each time.
const internMethod = (method: string): string => (method === 'GET' ? 'GET' : method === 'POST' ? 'POST' : method)

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

const isEncoded = /^[\x21-\x7e]*$/

const colon = 0x3a
