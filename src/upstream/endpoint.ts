import { isIP } from 'node:net'
import { wallClock } from '../clock.ts'
import type { EndpointConfig, HealthCheckConfig, UpstreamConfig } from '../config/config.ts'
import { watchAddresses } from './addresses.ts'
import { certificatesOf } from './certificates.ts'
import { connector } from './connect.ts'
import type { ConnectionUser } from './connection.ts'
import { Connections } from './connections.ts'
import { healthCheck, probe } from './health-check.ts'
import type { Tell } from './notices.ts'
import { type Outage, Standing } from './standing.ts'

/** Hears what the probes of this process find; null: it is up. */
type Judged = (down: Outage | null) => void

/** One origin: scheme, host, port, the keep-alive connections to it, and what is known of it. */
export class Endpoint {
  /** The URL as the log shows it. */
  readonly name: string
  /** What precedes the catalog's path. */
  readonly pathPrefix: string
  /** Host and port, as a request names them. */
  readonly authority: string
  readonly standing: Standing
  readonly connections: Connections
  /** How many requests are on their way, the wait for a connection included. */
  inFlight = 0
  readonly #connect: ReturnType<typeof connector>
  /** Ends the watch over the addresses of its name; null: it has an address. */
  readonly #unwatch: (() => void) | null
  readonly #tell: Tell
  readonly #judged: Judged | null
  #health: { readonly config: string; readonly close: () => void } | null = null

  /**
   * `origin` is where to connect: the configured one, or that of the embedded sandbox. `judged` null: another process
   * probes it, and has it {@link hear}.
   */
  constructor(
    endpoint: Pick<EndpointConfig, 'origin' | 'pathPrefix'>,
    origin: string,
    upstream: UpstreamConfig,
    tell: Tell = () => {},
    judged: Judged | null = () => {},
  ) {
    this.name = endpoint.origin + endpoint.pathPrefix
    this.pathPrefix = endpoint.pathPrefix
    const { host: authority, hostname } = new URL(origin)
    this.authority = authority
    this.standing = new Standing(certificatesOf(upstream.tls, authority))
    this.#tell = tell
    this.#judged = judged
    this.#connect = connector(origin, { timeoutMs: upstream.timeouts.connect, tls: upstream.tls })
    this.connections = new Connections({ ...upstream, keepAliveMs: upstream.keepAlive, connect: this.#connect })
    const isAddress = isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
    this.#unwatch = isAddress ? null : this.#watch(hostname, upstream.resolve)
  }

  /** Gives a request a connection, now or when its turn comes. Throws `overloaded`. */
  acquire(user: ConnectionUser): void {
    this.connections.acquire(user)
  }

  /**
   * Has it probed from now on as configured, with the Host that its upstream is sent; null: not at all. What was said by a probe that is
   * no longer made does not hold any more: the edit may be what mends it.
   */
  check(health: HealthCheckConfig | null, host: UpstreamConfig['host']): void {
    if (this.#judged === null) return
    const config = JSON.stringify([health, host])
    if (this.#health?.config === config) return
    this.#health?.close()
    this.#health = health === null ? null : { config, close: this.#openCheck(health, host) }
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
    await this.connections.close()
  }

  /** Cuts every connection. */
  async destroy(reason: Error): Promise<void> {
    this.#stop()
    await this.connections.destroy(reason)
  }

  #stop(): void {
    this.#unwatch?.()
    this.#health?.close()
    this.#health = null
  }

  #watch(hostname: string, everyMs: number): () => void {
    const { standing, name: endpoint } = this
    let known = false
    let failing = false
    return watchAddresses(hostname, everyMs, {
      changed: (addresses) => {
        if (failing) this.#tell('info', 'endpoint resolved', { endpoint })
        known = true
        failing = false
        standing.unresolved = null
        standing.outdated = null
        standing.certificates.keep(addresses.map(({ address }) => address))
        this.connections.spread(addresses)
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

  #openCheck(config: HealthCheckConfig, host: UpstreamConfig['host']): () => void {
    const connect = this.#connect()
    const named = typeof host === 'string' ? this.authority : host.name
    return healthCheck(config, () => probe(connect, named, config), {
      probed: (last) => {
        this.standing.lastProbe = last
      },
      up: () => this.#isUp('probes go well'),
      down: (reason) => {
        this.#judge({ since: wallClock(), reason })
        this.#tell('warn', 'endpoint down', { endpoint: this.name, reason })
      },
    })
  }

  #isUp(reason: string): void {
    if (this.standing.down === null) return
    this.#judge(null)
    this.#tell('info', 'endpoint up', { endpoint: this.name, reason })
  }

  #judge(down: Outage | null): void {
    this.hear(down)
    this.#judged?.(down)
  }
}
