import type { Group, Side } from '../../../operations.ts'
import type { EndpointConfig, UpstreamConfig, UpstreamTlsConfig } from '../../config/config.ts'
import type { LogEvent } from '../../log/log.ts'
import type { HealthCheckOutage } from '../health/endpoint-health.ts'
import { Endpoint } from './endpoint.ts'

/**
 * What uses an endpoint: one side of a group, the copies of requests for its candidate, or those that go to its primary
 * once more.
 */
export type EndpointUse = Side | 'shadow' | 'repeat'

/** Tells whether requests of clients go there. */
export const isSide = (use: EndpointUse): use is Side => use === 'primary' || use === 'candidate'

interface SharedEndpoint {
  readonly key: string
  /** What it is, however it is connected to: see {@link toIdentity}. */
  readonly identity: string
  readonly endpoint: Endpoint
  users: number
}

/** What probes say of an endpoint: down, or up again (null). Its identity is the same in every process. */
export type HealthVerdict = readonly [identity: string, down: HealthCheckOutage | null]

/** Called with what this process finds of the endpoints that it probes; null: another process probes them. */
export type OnHealthVerdict = ((verdict: HealthVerdict) => void) | null

/**
 * The open endpoints. Snapshots share them: an endpoint that a new configuration does not change keeps its
 * connections, and one that no snapshot uses any more is closed. Its health goes on with new connections as well: a
 * setting of these, or a client certificate that is renewed, makes no endpoint healthy. `logEvent` is called with the
 * events of endpoints.
 */
export class EndpointRegistry {
  readonly #byKey = new Map<string, SharedEndpoint>()
  readonly #byEndpoint = new Map<Endpoint, SharedEndpoint>()
  readonly #logEvent: LogEvent
  readonly #onVerdict: OnHealthVerdict
  /** By identity, the endpoint that is in use. */
  readonly #inUse = new Map<string, Endpoint>()
  /** By identity, the endpoints that probes find down at present. */
  readonly #down = new Map<string, HealthCheckOutage>()

  constructor(logEvent: LogEvent = () => {}, onVerdict: OnHealthVerdict = () => {}) {
    this.#logEvent = logEvent
    this.#onVerdict = onVerdict
  }

  get verdicts(): readonly HealthVerdict[] {
    return [...this.#down]
  }

  /** Applies what probes of another process found, also to an endpoint that is opened later. */
  applyVerdict([identity, down]: HealthVerdict): void {
    this.#record(identity, down)
    for (const shared of this.#byKey.values()) if (shared.identity === identity) shared.endpoint.applyOutage(down)
  }

  /** Notes that an endpoint is in use from now on: it goes on from the health of the one that was until now. */
  use(endpoint: Endpoint): void {
    const identity = this.#byEndpoint.get(endpoint)?.identity
    if (identity === undefined) return
    const before = this.#inUse.get(identity)
    if (before !== undefined && before !== endpoint) endpoint.health.continueFrom(before.health)
    this.#inUse.set(identity, endpoint)
  }

  /**
   * Creates the log of the events of a group's side. Those of a candidate name the side. What is true of where copies
   * go is logged once, for the side.
   */
  logFor(group: Group, use: EndpointUse): LogEvent {
    if (!isSide(use)) return () => {}
    const owner = use === 'primary' ? { group } : { group, side: use }
    return (level, event, fields) => this.#logEvent(level, event, { ...owner, ...fields })
  }

  /**
   * Opens an endpoint, or shares the one that is open already. `sandboxOrigin` is where the embedded upstream listens.
   * One that stands on both sides of a group is two.
   */
  acquire(
    group: Group,
    use: EndpointUse,
    { origin, pathPrefix }: EndpointConfig,
    upstream: UpstreamConfig,
    sandboxOrigin: string,
  ): Endpoint {
    // The settings that shape its connections. A weight, a timeout of the response or a mutation of fields changes
    // nothing about them.
    const { timeouts, keepAlive, maxConnections, maxPending, resolve } = upstream
    const poolSettings = [timeouts.connect, keepAlive, maxConnections, maxPending, resolve]
    const identity = toIdentity(group, use, origin + pathPrefix)
    const key = JSON.stringify([identity, poolSettings, getEndpointTls(origin, upstream)])
    let shared = this.#byKey.get(key)
    if (shared === undefined) {
      const target = origin === 'sandbox' ? sandboxOrigin : origin
      const endpoint = new Endpoint(
        { origin, pathPrefix },
        target,
        upstream,
        this.logFor(group, use),
        this.#verdictCallback(identity),
        isSide(use), // no client holds the place of a copy
      )
      endpoint.applyOutage(this.#down.get(identity) ?? null)
      shared = { key, identity, endpoint, users: 0 }
      this.#byKey.set(key, shared)
      this.#byEndpoint.set(shared.endpoint, shared)
    }
    shared.users++
    return shared.endpoint
  }

  /** Gives an endpoint back. The last user's release closes it, which waits for the requests that still run there. */
  async release(endpoint: Endpoint): Promise<void> {
    const shared = this.#byEndpoint.get(endpoint)
    if (shared === undefined || --shared.users > 0) return
    const { key, identity } = shared
    this.#byKey.delete(key)
    if (this.#inUse.get(identity) === endpoint) this.#inUse.delete(identity)
    if (![...this.#byKey.values()].some((other) => other.identity === identity)) this.#down.delete(identity)
    await endpoint.close()
    this.#byEndpoint.delete(endpoint)
  }

  /** Cuts every connection of every endpoint, those that are closing included. */
  async destroy(reason: Error): Promise<void> {
    await Promise.all([...this.#byEndpoint.keys()].map((endpoint) => endpoint.destroy(reason)))
  }

  /** The number of open endpoints, those that are closing included. */
  get size(): number {
    return this.#byEndpoint.size
  }

  #verdictCallback(identity: string): ((down: HealthCheckOutage | null) => void) | null {
    const onVerdict = this.#onVerdict
    if (onVerdict === null) return null
    return (down) => {
      this.#record(identity, down)
      onVerdict([identity, down])
    }
  }

  #record(identity: string, down: HealthCheckOutage | null): void {
    if (down === null) this.#down.delete(identity)
    else this.#down.set(identity, down)
  }
}

/** Names what an endpoint is: where it is, and for whom. No other setting makes another endpoint of it. */
const toIdentity = (group: Group, use: EndpointUse, url: string): string => JSON.stringify([group, use, url])

/**
 * Returns the TLS settings of the connections to an endpoint; null: it is spoken to without TLS, and the settings do
 * not matter.
 */
export const getEndpointTls = (origin: string, { tls }: Pick<UpstreamConfig, 'tls'>): UpstreamTlsConfig | null =>
  origin.startsWith('https:') ? tls : null
