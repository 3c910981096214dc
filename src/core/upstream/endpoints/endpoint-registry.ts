import type { Group, Side } from '../../../operations.ts'
import type { EndpointConfig, UpstreamConfig, UpstreamTlsConfig } from '../../config/config.ts'
import type { LogEvent } from '../../log/log.ts'
import type { HealthCheckOutage } from '../health/endpoint-health.ts'
import { Endpoint } from './endpoint.ts'

/** `shadow`: copies for the candidate; `repeat`: copies that go to the primary a second time. */
export type EndpointUse = Side | 'shadow' | 'repeat'

export const isSide = (use: EndpointUse): use is Side => use === 'primary' || use === 'candidate'

interface SharedEndpoint {
  readonly key: string
  readonly identity: string
  readonly endpoint: Endpoint
  users: number
}

/** Null: up again. The identity is the same in every process. */
export type HealthVerdict = readonly [identity: string, down: HealthCheckOutage | null]

export type OnHealthVerdict = ((verdict: HealthVerdict) => void) | null

/**
 * Shared by snapshots: an endpoint that an edit leaves as it is keeps its connections. Health outlives changed
 * connection settings and renewed client certificates: neither makes an endpoint healthy.
 */
export class EndpointRegistry {
  readonly #byKey = new Map<string, SharedEndpoint>()
  readonly #byEndpoint = new Map<Endpoint, SharedEndpoint>()
  readonly #logEvent: LogEvent
  readonly #onVerdict: OnHealthVerdict
  readonly #inUse = new Map<string, Endpoint>()
  readonly #down = new Map<string, HealthCheckOutage>()

  constructor(logEvent: LogEvent = () => {}, onVerdict: OnHealthVerdict = () => {}) {
    this.#logEvent = logEvent
    this.#onVerdict = onVerdict
  }

  get verdicts(): readonly HealthVerdict[] {
    return [...this.#down]
  }

  /** Also covers endpoints that are opened later. */
  applyVerdict([identity, down]: HealthVerdict): void {
    this.#record(identity, down)
    for (const shared of this.#byKey.values()) if (shared.identity === identity) shared.endpoint.applyOutage(down)
  }

  use(endpoint: Endpoint): void {
    const identity = this.#byEndpoint.get(endpoint)?.identity
    if (identity === undefined) return
    const before = this.#inUse.get(identity)
    if (before !== undefined && before !== endpoint) endpoint.health.continueFrom(before.health)
    this.#inUse.set(identity, endpoint)
  }

  /** Events of a candidate name it. Those of copies are not logged: the candidate logs the same endpoint. */
  logFor(group: Group, use: EndpointUse): LogEvent {
    if (!isSide(use)) return () => {}
    const owner = use === 'primary' ? { group } : { group, side: use }
    return (level, event, fields) => this.#logEvent(level, event, { ...owner, ...fields })
  }

  acquire(
    group: Group,
    use: EndpointUse,
    { origin, pathPrefix }: EndpointConfig,
    upstream: UpstreamConfig,
    sandboxOrigin: string,
  ): Endpoint {
    const { timeouts, keepAlive, maxConnections, maxPending, resolve } = upstream
    const poolSettings = [timeouts.connect, keepAlive, maxConnections, maxPending, resolve]
    const identity = JSON.stringify([group, use, origin + pathPrefix])
    const key = JSON.stringify([identity, poolSettings, getEndpointTls(origin, upstream)])
    let shared = this.#byKey.get(key)
    if (shared === undefined) {
      const target = origin === 'sandbox' ? sandboxOrigin : origin
      const [logEvent, onOutage] = [this.logFor(group, use), this.#verdictCallback(identity)]
      const isFair = isSide(use)
      const endpoint = new Endpoint({ origin, pathPrefix }, target, upstream, logEvent, onOutage, isFair)
      endpoint.applyOutage(this.#down.get(identity) ?? null)
      shared = { key, identity, endpoint, users: 0 }
      this.#byKey.set(key, shared)
      this.#byEndpoint.set(endpoint, shared)
    }
    shared.users++
    return shared.endpoint
  }

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

export const getEndpointTls = (origin: string, { tls }: Pick<UpstreamConfig, 'tls'>): UpstreamTlsConfig | null =>
  origin.startsWith('https:') ? tls : null
