import { isIP, type LookupFunction } from 'node:net'
import type { Dispatcher } from 'undici'
import { wallClock } from '../clock.ts'
import type { EndpointConfig, HealthCheckConfig, UpstreamConfig } from '../config/config.ts'
import type { Upload } from '../exchange.ts'
import type { Fields } from '../fields.ts'
import { Addresses } from './addresses.ts'
import { certificatesOf } from './certificates.ts'
import { connector } from './connect.ts'
import { Connection, type EndpointHandler } from './connection.ts'
import { HealthCheck } from './health-check.ts'
import type { Tell } from './notices.ts'
import { Pools } from './pools.ts'
import { probe } from './probe.ts'
import { type Outage, Standing } from './standing.ts'
import { Turns } from './turns.ts'

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

/** Says who probes an endpoint. */
export interface Probing {
  /** Whether this process does; else it is told what another one finds. */
  readonly here: boolean
  /** Is told what the probes of this process find; null: it is up. */
  judged(down: Outage | null): void
}

const probedHere: Probing = { here: true, judged: () => {} }

/**
 * Is one origin: scheme, host, port, the keep-alive connections to it, and what is known of it.
 */
export class Endpoint {
  /** The URL as the log shows it. */
  readonly name: string
  /** What precedes the catalog's path. */
  readonly pathPrefix: string
  readonly standing: Standing
  /** How many requests are on their way, the wait for a connection included. */
  inFlight = 0
  /** Whether its connections were cut, so that nothing may be sent any more. */
  isCut = false
  readonly #origin: string
  readonly #hostname: string
  readonly #upstream: UpstreamConfig
  readonly #connect: ReturnType<typeof connector>
  readonly #pools: Pools
  readonly #addresses: Addresses | null
  readonly #tell: Tell
  readonly #probing: Probing
  /** Connections for one request each. */
  readonly #fresh = new Set<Connection>()
  readonly #turns: Turns<EndpointHandler, EndpointRequest>
  #health: { readonly config: string; readonly check: HealthCheck } | null = null

  /** `origin` is where to connect: the configured one, or that of the embedded sandbox. */
  constructor(
    endpoint: Pick<EndpointConfig, 'origin' | 'pathPrefix'>,
    origin: string,
    upstream: UpstreamConfig,
    tell: Tell = () => {},
    probing: Probing = probedHere,
  ) {
    this.name = endpoint.origin + endpoint.pathPrefix
    this.pathPrefix = endpoint.pathPrefix
    this.#origin = origin
    this.#hostname = new URL(origin).hostname
    this.#upstream = upstream
    this.standing = new Standing(certificatesOf(upstream.tls, new URL(origin).host))
    this.#tell = tell
    this.#probing = probing
    this.#connect = connector({ timeoutMs: upstream.connectTimeoutMs, tls: upstream.tls })
    this.#turns = new Turns(upstream.maxConnections, upstream.maxPending, (handler, request) =>
      this.redispatch(request, handler),
    )
    this.#pools = new Pools((lookup) => this.#opener(lookup))
    this.#addresses = isIP(this.#hostname.replace(/^\[|\]$/g, '')) === 0 ? this.#resolve() : null
  }

  /** Tells whether it takes no more: as many run as there may be connections, and as many wait as may. */
  get full(): boolean {
    return this.#turns.full
  }

  /** Sends a request on a free connection, a new one, or when its turn comes. What becomes of it is the handler's to hear. Throws `overloaded`. */
  dispatch(request: EndpointRequest, handler: EndpointHandler): void {
    this.#turns.enter(handler, request)
  }

  /** Sends a request that has its place, and of which nothing was sent yet. */
  redispatch(request: EndpointRequest, handler: EndpointHandler): void {
    this.#pools.next().dispatch(this.#render(request), handler)
  }

  /** Sends a request that is under way once more, on a connection that nothing was sent on before. */
  dispatchFresh(request: EndpointRequest, handler: EndpointHandler): void {
    const connection = new Connection(this.#origin, this.#connect(this.#pools.lookup), 0)
    this.#fresh.add(connection)
    connection.dispatch(this.#render(request), handler)
    void connection.close().finally(() => this.#fresh.delete(connection))
  }

  /** Takes back a request that waits for its turn; false: it does not, or no longer. */
  withdraw(handler: EndpointHandler): boolean {
    return this.#turns.withdraw(handler)
  }

  /** Is told by a handler that undici has done with it. */
  done(): void {
    this.#turns.leave()
  }

  /**
   * Has it probed from now on as configured, with the Host that its upstream is sent; null: not at all. What was said by a probe that is
   * no longer made does not hold any more: the edit may be what mends it.
   */
  check(health: HealthCheckConfig | null, host: UpstreamConfig['host']): void {
    if (!this.#probing.here) return
    const config = JSON.stringify([health, host])
    if (this.#health?.config === config) return
    this.#health?.check.close()
    this.#health = health === null ? null : { config, check: this.#openCheck(health, host) }
    this.#isUp(health === null ? 'no longer probed' : 'probed in another way')
  }

  /** Takes over what probes of another process found; null: it is up. */
  hear(down: Outage | null): void {
    if (down !== null) this.standing.down = down
    else if (this.standing.down !== null) this.standing.cameUp()
  }

  /** Finishes what runs, then closes every connection. Resolves as well when it has been cut in the meantime. */
  async close(): Promise<void> {
    this.#stop()
    await this.#pools.close()
  }

  /** Cuts every connection. */
  async destroy(reason: Error): Promise<void> {
    this.#stop()
    this.isCut = true
    await Promise.all([this.#pools.destroy(reason), ...[...this.#fresh].map((each) => each.destroy(reason))])
  }

  #stop(): void {
    this.#addresses?.close()
    this.#health?.check.close()
    this.#health = null
  }

  #render({ method, path, headers, host, body, bodyLength }: EndpointRequest): Dispatcher.DispatchOptions {
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
    return options as unknown as Dispatcher.DispatchOptions
  }

  /** Makes what opens the connections of a pool. */
  #opener(lookup?: LookupFunction): () => Connection {
    const connect = this.#connect(lookup)
    return () => new Connection(this.#origin, connect, this.#upstream.keepAliveMs)
  }

  #resolve(): Addresses {
    const { standing, name: endpoint } = this
    let known = false
    let failing = false
    return new Addresses(this.#hostname, this.#upstream.resolveMs, {
      changed: (addresses) => {
        if (failing) this.#tell('info', 'endpoint resolved', { endpoint })
        known = true
        failing = false
        standing.unresolved = null
        standing.outdated = null
        standing.certificates.keep(addresses.map(({ address }) => address))
        this.#pools.spread(addresses)
      },
      failed: (reason) => {
        failing = true
        this.#tell('warn', 'endpoint not resolved', { endpoint, reason })
        // Another reason is still the same outage.
        const { since } = standing.outdated ?? standing.unresolved ?? { since: wallClock() }
        if (known) standing.outdated = { since, reason }
        else standing.unresolved = { since, reason }
      },
    })
  }

  #openCheck(config: HealthCheckConfig, host: UpstreamConfig['host']): HealthCheck {
    const target = { origin: this.#origin, connect: this.#connect(), host: typeof host === 'string' ? null : host.name }
    return new HealthCheck(config, () => probe(target, config), {
      probed: (last) => {
        this.standing.lastProbe = last
      },
      up: () => this.#isUp('probes go well'),
      down: (reason) => {
        this.#judged({ since: wallClock(), reason })
        this.#tell('warn', 'endpoint down', { endpoint: this.name, reason })
      },
    })
  }

  #isUp(reason: string): void {
    if (this.standing.down === null) return
    this.#judged(null)
    this.#tell('info', 'endpoint up', { endpoint: this.name, reason })
  }

  #judged(down: Outage | null): void {
    this.hear(down)
    this.#probing.judged(down)
  }
}
