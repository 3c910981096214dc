import type { Group, Side } from '../../../operations.ts'
import type { EndpointConfig, UpstreamConfig, UpstreamTlsConfig } from '../../config/config.ts'
import type { LogEvent } from '../../log/log.ts'
import type { HealthCheckOutage } from '../health/endpoint-health.ts'
import { Endpoint } from './endpoint.ts'

/** `shadow`: copies for the candidate; `repeat`: copies that go to the primary once more. */
export type EndpointUse = Side | 'shadow' | 'repeat'

/** Clients' requests go there, not copies. */
export const isSide = (use: EndpointUse): use is Side => use === 'primary' || use === 'candidate'

interface SharedEndpoint {
  readonly key: string
  readonly identity: string
  readonly endpoint: Endpoint
  users: number
}

/** Null: up again. The identity is the same in every process. */
export type HealthVerdict = readonly [identity: string, down: HealthCheckOutage | null]

/** Called with the verdicts of this process's probes; null: another process probes. */
export type OnHealthVerdict = ((verdict: HealthVerdict) => void) | null

/**
 * Shared by snapshots: an endpoint that an edit does not change keeps its connections, and an unused one is closed.
 * Health outlives changed connection settings and renewed client certificates: neither makes an endpoint healthy.
 */
export class EndpointRegistry {
  readonly #byKey = new Map<string, SharedEndpoint>()
  readonly #byEndpoint = new Map<Endpoint, SharedEndpoint>()
  readonly #logEvent: LogEvent
  readonly #onVerdict: OnHealthVerdict
  /** Both by identity. */
  readonly #inUse = new Map<string, Endpoint>()
  readonly #down = new Map<string, HealthCheckOutage>()

  constructor(logEvent: LogEvent = () => {}, onVerdict: OnHealthVerdict = () => {}) {
    this.#logEvent = logEvent
    this.#onVerdict = onVerdict
  }

  get verdicts(): readonly HealthVerdict[] {
    return [...this.#down]
  }

  /** Applies a verdict of another process, also to endpoints opened later. */
  applyVerdict([identity, down]: HealthVerdict): void {
    this.#record(identity, down)
    for (const shared of this.#byKey.values()) if (shared.identity === identity) shared.endpoint.applyOutage(down)
  }

  /** The endpoint's health continues from that of the one it replaces. */
  use(endpoint: Endpoint): void {
    const identity = this.#byEndpoint.get(endpoint)?.identity
    if (identity === undefined) return
    const before = this.#inUse.get(identity)
    if (before !== undefined && before !== endpoint) endpoint.health.continueFrom(before.health)
    this.#inUse.set(identity, endpoint)
  }

  /** Events of a candidate name the side. Those of copies are not logged: the side logs the same endpoint. */
  logFor(group: Group, use: EndpointUse): LogEvent {
    if (!isSide(use)) return () => {}
    const owner = use === 'primary' ? { group } : { group, side: use }
    return (level, event, fields) => this.#logEvent(level, event, { ...owner, ...fields })
  }

  /** Each side of a group has its own endpoint. `sandboxOrigin` is the embedded upstream. */
  acquire(
    group: Group,
    use: EndpointUse,
    { origin, pathPrefix }: EndpointConfig,
    upstream: UpstreamConfig,
    sandboxOrigin: string,
  ): Endpoint {
    // The settings that shape connections.
    const { timeouts, keepAlive, maxConnections, maxPending, resolve } = upstream
    const poolSettings = [timeouts.connect, keepAlive, maxConnections, maxPending, resolve]
    // No other setting makes another endpoint of it.
    const identity = JSON.stringify([group, use, origin + pathPrefix])
    const key = JSON.stringify([identity, poolSettings, getEndpointTls(origin, upstream)])
    let shared = this.#byKey.get(key)
    if (shared === undefined) {
      const target = origin === 'sandbox' ? sandboxOrigin : origin
      const [logEvent, onOutage] = [this.logFor(group, use), this.#verdictCallback(identity)]
      const isFair = isSide(use) // copies compete with no client
      const endpoint = new Endpoint({ origin, pathPrefix }, target, upstream, logEvent, onOutage, isFair)
      endpoint.applyOutage(this.#down.get(identity) ?? null)
      shared = { key, identity, endpoint, users: 0 }
      this.#byKey.set(key, shared)
      this.#byEndpoint.set(endpoint, shared)
    }
    shared.users++
    return shared.endpoint
  }

  /** The last release closes the endpoint, after the requests that still run there. */
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

  async destroy(reason: Error): Promise<void> {
    await Promise.all([...this.#byEndpoint.keys()].map((endpoint) => endpoint.destroy(reason)))
  }

  /** Closing endpoints included. */
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

/** Null: without TLS the settings do not matter. */
export const getEndpointTls = (origin: string, { tls }: Pick<UpstreamConfig, 'tls'>): UpstreamTlsConfig | null =>
  origin.startsWith('https:') ? tls : null
