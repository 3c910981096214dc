import type { EndpointConfig, UpstreamConfig, UpstreamTlsConfig } from '../../config/config.ts'
import type { Group } from '../../operations.ts'
import type { LogEvent } from '../../shared/log-event.ts'
import type { EndpointOutage } from '../health/endpoint-health.ts'
import { Endpoint } from './endpoint.ts'

/** Is an open endpoint and how many snapshots use it. */
interface SharedEndpoint {
  readonly key: string
  readonly endpoint: Endpoint
  users: number
}

/** Says that probes find an endpoint down, or up again (null). Its key is the same in every process. */
export type HealthVerdict = readonly [key: string, down: EndpointOutage | null]

/** Hears what this process finds of the endpoints that it probes; null: another process probes them. */
export type OnHealthVerdict = ((verdict: HealthVerdict) => void) | null

/**
 * Keeps the endpoints that are open. Snapshots share them: one that a new configuration does not change goes on with its connections and
 * with what is known of it, and one that no snapshot uses any more is closed. `tell` hears what happens to them.
 */
export class EndpointRegistry {
  readonly #byKey = new Map<string, SharedEndpoint>()
  readonly #byEndpoint = new Map<Endpoint, SharedEndpoint>()
  readonly #logEvent: LogEvent
  readonly #onVerdict: OnHealthVerdict
  /** Those that probes find down at present. */
  readonly #down = new Map<string, EndpointOutage>()

  constructor(logEvent: LogEvent = () => {}, onVerdict: OnHealthVerdict = () => {}) {
    this.#logEvent = logEvent
    this.#onVerdict = onVerdict
  }

  /** Lists what probes have found: those that are down. */
  get verdicts(): readonly HealthVerdict[] {
    return [...this.#down]
  }

  /** Takes over what probes of another process found, also of an endpoint that is opened later. */
  applyVerdict([key, down]: HealthVerdict): void {
    this.#record(key, down)
    this.#byKey.get(key)?.endpoint.applyOutage(down)
  }

  /** Makes what hears of what happens to a group. */
  logFor(group: Group): LogEvent {
    return (level, event, fields) => this.#logEvent(level, event, { group, ...fields })
  }

  /** Opens an endpoint, or shares the one that is open already. `sandboxOrigin` is where the embedded upstream listens. */
  acquire(
    group: Group,
    { origin, pathPrefix }: EndpointConfig,
    upstream: UpstreamConfig,
    sandboxOrigin: string,
  ): Endpoint {
    // What shapes its connections. A weight, a timeout of the answer or an edit of fields changes nothing about them.
    const { timeouts, keepAlive, maxConnections, maxPending, resolve } = upstream
    const poolSettings = [timeouts.connect, keepAlive, maxConnections, maxPending, resolve]
    const key = JSON.stringify([group, origin, pathPrefix, poolSettings, getEndpointTls(origin, upstream)])
    let shared = this.#byKey.get(key)
    if (shared === undefined) {
      const to = origin === 'sandbox' ? sandboxOrigin : origin
      const endpoint = new Endpoint(
        { origin, pathPrefix },
        to,
        upstream,
        this.logFor(group),
        this.#verdictCallback(key),
      )
      endpoint.applyOutage(this.#down.get(key) ?? null)
      shared = { key, endpoint, users: 0 }
      this.#byKey.set(key, shared)
      this.#byEndpoint.set(shared.endpoint, shared)
    }
    shared.users++
    return shared.endpoint
  }

  /** Gives an endpoint back. The last user's closes it, which waits for what still runs there. */
  async release(endpoint: Endpoint): Promise<void> {
    const shared = this.#byEndpoint.get(endpoint)
    if (shared === undefined || --shared.users > 0) return
    this.#byKey.delete(shared.key)
    this.#down.delete(shared.key)
    await endpoint.close()
    this.#byEndpoint.delete(endpoint)
  }

  /** Cuts every connection of every endpoint, those that are closing included. */
  async destroy(reason: Error): Promise<void> {
    await Promise.all([...this.#byEndpoint.keys()].map((endpoint) => endpoint.destroy(reason)))
  }

  /** Tells how many are open, those that are closing included. */
  get size(): number {
    return this.#byEndpoint.size
  }

  #verdictCallback(key: string): ((down: EndpointOutage | null) => void) | null {
    const onVerdict = this.#onVerdict
    if (onVerdict === null) return null
    return (down) => {
      this.#record(key, down)
      onVerdict([key, down])
    }
  }

  #record(key: string, down: EndpointOutage | null): void {
    if (down === null) this.#down.delete(key)
    else this.#down.set(key, down)
  }
}

/** Finds the settings of TLS that an endpoint is spoken to with; null: without, and then they say nothing of it. */
export const getEndpointTls = (origin: string, { tls }: Pick<UpstreamConfig, 'tls'>): UpstreamTlsConfig | null =>
  origin.startsWith('https:') ? tls : null
