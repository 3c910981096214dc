import { now } from '../clock.ts'
import { Latency } from './latency.ts'

/** Is the last probe of an endpoint. */
export interface Probe {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly latencyMs: number
  /** Null: it went well. */
  readonly reason: string | null
}

/** Is why an endpoint is out, and since when (milliseconds since the epoch). */
export interface Outage {
  readonly since: number
  readonly reason: string
}

/** Is an outage that ends by itself. Times of the monotonic clock but for `since`. */
export interface Ejection extends Outage {
  readonly startedAt: number
  readonly until: number
}

/**
 * Is what is known of an endpoint, from the traffic that it had and from probes. It is kept for as long as the endpoint is open, over
 * every reload; what is made of it is up to the policies of the upstream.
 */
export class Standing {
  readonly latency = new Latency()
  /** Requests that have ended, and how many of them failed by the endpoint's fault. */
  requests = 0
  failures = 0
  /** How often traffic has taken it out since it was opened. */
  ejections = 0
  /** Failures since the last request that went well. */
  consecutiveFailures = 0
  /** Set by a health check that fails; null: up, or not probed. */
  down: Outage | null = null
  /** Set when its name does not resolve. */
  unresolved: Outage | null = null
  /** Set by outlier detection; it may be over, which is for the reader to see: {@link isEjected}. */
  ejection: Ejection | null = null
  lastProbe: Probe | null = null
  /** When it came back from being down or ejected, on the monotonic clock; null: it was never out. */
  returnedAt: number | null = null

  /** Tells whether traffic has taken it out, and that is not over. */
  isEjected(at: number = now()): boolean {
    return this.ejection !== null && at < this.ejection.until
  }
}
