import { Client, type Dispatcher, Pool } from 'undici'
import type { EndpointConfig, UpstreamConfig } from '../config/config.ts'
import type { Upload } from '../exchange.ts'
import type { Fields } from '../fields.ts'
import { connector } from './connect.ts'

// Most bytes of an answer's head: twice what a request may have.
const maxAnswerHeaderBytes = 64 * 1024

/** Is a request as an endpoint sends it. */
export interface EndpointRequest {
  readonly method: 'GET' | 'POST'
  /** Path and raw query. */
  readonly path: string
  /** End-to-end fields; Host, Content-Length and Connection are rendered anew. */
  readonly headers: Fields
  /** The Host to send; null: the endpoint's own. */
  readonly host: string | null
  readonly body: Buffer | Upload | null
  /** Bytes of the body; null: chunked. */
  readonly bodyLength: number | null
}

/** Is one origin: scheme, host, port, and the keep-alive connections to it. */
export class Endpoint {
  /** The URL as the log shows it. */
  readonly name: string
  /** What precedes the catalog's path. */
  readonly pathPrefix: string
  /** How many requests are on their way, the wait for a connection included. */
  inFlight = 0
  readonly #hostname: string
  readonly #pool: Pool

  /** `origin` is where to connect: the configured one, or that of the embedded sandbox. */
  constructor(endpoint: Omit<EndpointConfig, 'weight'>, origin: string, upstream: UpstreamConfig) {
    this.name = endpoint.origin + endpoint.pathPrefix
    this.pathPrefix = endpoint.pathPrefix
    this.#hostname = new URL(origin).hostname
    this.#pool = new Pool(origin, {
      // Beyond it requests wait for a free one, until their deadline.
      connections: upstream.maxConnections,
      factory: (url, options) => new SoundClient(url, options),
      connect: connector({ timeoutMs: upstream.connectTimeoutMs, tls: upstream.tls })(),
      allowH2: false,
      // 0 means one connection a request; undici knows that as no pipelining at all.
      pipelining: upstream.keepAliveMs === 0 ? 0 : 1,
      keepAliveTimeout: Math.max(upstream.keepAliveMs, 1),
      keepAliveMaxTimeout: Math.max(upstream.keepAliveMs, 1),
      maxHeaderSize: maxAnswerHeaderBytes,
      // The gateway keeps its own time (exact, and aware of who is waiting for whom).
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  /** Sends a request on a free connection, a new one, or when one is free. What becomes of it is the handler's to hear. */
  dispatch({ method, path, headers, host, body, bodyLength }: EndpointRequest, handler: EndpointHandler): void {
    // undici knows the length of a buffer itself; a stream without one goes out chunked.
    const lengthOfStream = body !== null && !Buffer.isBuffer(body) && bodyLength !== null
    let framed = host === null ? headers : [...headers, 'host', host]
    if (lengthOfStream) framed = [...framed, 'content-length', String(bodyLength)]
    const options = {
      method,
      path,
      headers: framed,
      body,
      // Given here, or undici takes the TLS server name from the Host field and reconnects whenever that changes.
      servername: this.#hostname,
    }
    // undici takes any async iterable as a body, a frozen array of fields and a server name, though its type says none of it.
    this.#pool.dispatch(options as unknown as Dispatcher.DispatchOptions, handler)
  }

  /** Finishes what runs, then closes every connection. Resolves as well when it has been cut in the meantime. */
  async close(): Promise<void> {
    if (!this.#pool.closed && !this.#pool.destroyed) await this.#pool.close()
  }

  /** Cuts every connection. */
  async destroy(reason: Error): Promise<void> {
    if (!this.#pool.destroyed) await this.#pool.destroy(reason)
  }
}

/** Is a dispatch handler that knows when nothing more is to be done for it. */
export interface EndpointHandler extends Dispatcher.DispatchHandler {
  /** Whether it has failed or finished. */
  readonly over: boolean
}

// A request that undici refuses (an invalid field, say) leaves its client marked busy for ever: dispatch returns false and `drain` never
// comes. After as many as the pool holds, nothing is answered. A refusal occupies nothing, so the client stays free. Nor does a request
// that was given up while it waited: sent on, a thousand of them would each try to connect before the next live one may.
class SoundClient extends Client {
  override dispatch(options: Dispatcher.DispatchOptions, handler: EndpointHandler): boolean {
    return handler.over || super.dispatch(options, handler) || handler.over
  }
}
