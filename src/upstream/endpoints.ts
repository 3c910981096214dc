import type { Group } from '../catalog.ts'
import type { EndpointConfig, UpstreamConfig, UpstreamTlsConfig } from '../config/config.ts'
import { Endpoint } from './endpoint.ts'
import type { Tell } from './notices.ts'
import type { Outage } from './standing.ts'

/** Is an open endpoint and how many snapshots use it. */
interface Shared {
  readonly key: string
  readonly endpoint: Endpoint
  users: number
}

/** Says that probes find an endpoint down, or up again (null). Its key is the same in every process. */
export type Verdict = readonly [key: string, down: Outage | null]

/** Hears what this process finds of the endpoints that it probes; null: another process probes them. */
export type OnVerdict = ((verdict: Verdict) => void) | null

/**
 * Keeps the endpoints that are open. Snapshots share them: one that a new configuration does not change goes on with its connections and
 * with what is known of it, and one that no snapshot uses any more is closed. `tell` hears what happens to them.
 */
export class Endpoints {
  readonly #byKey = new Map<string, Shared>()
  readonly #byEndpoint = new Map<Endpoint, Shared>()
  readonly #tell: Tell
  readonly #onVerdict: OnVerdict
  /** Those that probes find down at present. */
  readonly #down = new Map<string, Outage>()

  constructor(tell: Tell = () => {}, onVerdict: OnVerdict = () => {}) {
    this.#tell = tell
    this.#onVerdict = onVerdict
  }

  /** Lists what probes have found: those that are down. */
  get verdicts(): readonly Verdict[] {
    return [...this.#down]
  }

  /** Takes over what probes of another process found, also of an endpoint that is opened later. */
  hear([key, down]: Verdict): void {
    this.#note(key, down)
    this.#byKey.get(key)?.endpoint.hear(down)
  }

  /** Makes what hears of what happens to a group. */
  tellOf(group: Group): Tell {
    return (level, event, fields) => this.#tell(level, event, { group, ...fields })
  }

  /** Opens an endpoint, or shares the one that is open already. `sandboxOrigin` is where the embedded upstream listens. */
  take(
    group: Group,
    { origin, pathPrefix }: EndpointConfig,
    upstream: UpstreamConfig,
    sandboxOrigin: string,
  ): Endpoint {
    // What shapes its connections. A weight, a timeout of the answer or an edit of fields changes nothing about them.
    const { timeouts, keepAlive, maxConnections, maxPending, resolve } = upstream
    const bounds = [timeouts.connect, keepAlive, maxConnections, maxPending, resolve]
    const key = JSON.stringify([group, origin, pathPrefix, bounds, tlsTo(origin, upstream)])
    let shared = this.#byKey.get(key)
    if (shared === undefined) {
      const to = origin === 'sandbox' ? sandboxOrigin : origin
      const endpoint = new Endpoint({ origin, pathPrefix }, to, upstream, this.tellOf(group), this.#judged(key))
      endpoint.hear(this.#down.get(key) ?? null)
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

  #judged(key: string): ((down: Outage | null) => void) | null {
    const onVerdict = this.#onVerdict
    if (onVerdict === null) return null
    return (down) => {
      this.#note(key, down)
      onVerdict([key, down])
    }
  }

  #note(key: string, down: Outage | null): void {
    if (down === null) this.#down.delete(key)
    else this.#down.set(key, down)
  }
}

/** Finds the settings of TLS that an endpoint is spoken to with; null: without, and then they say nothing of it. */
export const tlsTo = (origin: string, { tls }: Pick<UpstreamConfig, 'tls'>): UpstreamTlsConfig | null =>
  origin.startsWith('https:') ? tls : null
