import { epochMs, now } from '../../clock.ts'
import type { GatewayError } from '../../failures/errors.ts'
import type { AttemptOutcome } from '../attempt/attempt-outcome.ts'
import { PeakEwma } from '../balancing/peak-ewma.ts'
import { EndpointCertificates } from '../endpoints/endpoint-certificates.ts'
import { SlidingWindow } from './sliding-window.ts'

// For how long the share of failures is remembered.
const failureWindowMs = 10_000

// Long enough for a canary with a tenth of little traffic to show how it differs.
const responseWindowMs = 300_000

/** Is the last probe of an endpoint. */
export interface ProbeResult {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly latencyMs: number
  /** Null: it went well. */
  readonly reason: string | null
}

/** Is why an endpoint is out, and since when (milliseconds since the epoch). */
export interface EndpointOutage {
  readonly since: number
  readonly reason: string
}

/** Is an outage that ends by itself. Times of the monotonic clock but for `since`. */
export interface Ejection extends EndpointOutage {
  readonly startedAt: number
  readonly until: number
}

/** Is the last request that failed by the endpoint's fault. */
export interface LastFailure {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The failure, or the status of an answer that counts as one. */
  readonly errorOrStatus: GatewayError | number
}

/**
 * How many failures without a success between them make an endpoint `failing`: as many as outlier detection takes out by default. One is
 * a hiccup, and a few are the connections that a restart closes.
 */
export const failingThreshold = 5

/** What is counted of an endpoint from its opening on; several workers' add up, and /status shows each. */
export const emptyEndpointCounts = {
  /** Requests that have ended. */
  requests: 0,
  /** Those of them that failed by the endpoint's fault. */
  failures: 0,
  /** How often traffic has taken it out. */
  ejections: 0,
}

/** The counts of an endpoint. They never become less. */
export type EndpointCounts = Readonly<typeof emptyEndpointCounts>

/**
 * Is what is known of an endpoint, from the traffic that it had and from probes. It is kept for as long as the endpoint is open, over
 * every reload; what is made of it is up to the policies of the upstream.
 */
export class EndpointHealth {
  readonly latency = new PeakEwma()
  readonly counts: { -readonly [Name in keyof EndpointCounts]: number } = { ...emptyEndpointCounts }
  /** Failures since the last request that went well, or the last ejection: what outlier detection counts. */
  consecutiveFailures = 0
  /** When a request last went well, in ms since the epoch; null: none has. */
  succeededAt: number | null = null
  /** When the first request failed since then, in ms since the epoch; null: none has. */
  failingSince: number | null = null
  /** How many have failed since then, or since probes found it well again. */
  failuresInARow = 0
  /** Set by a health check that fails; null: up, or not probed. */
  down: EndpointOutage | null = null
  /** Set when its name does not resolve. */
  unresolved: EndpointOutage | null = null
  /** Set when its name does not resolve any more; what it resolved to before is used on. */
  outdated: EndpointOutage | null = null
  /** The last request that failed by its fault; null: none has. */
  lastFailure: LastFailure | null = null
  /** Set by outlier detection; it may be over, which is for the reader to see: {@link isEjected}. */
  ejection: Ejection | null = null
  /** How many ejections followed each other closely, the last included. */
  ejectionsInARow = 0
  /** Whether no request has gone well since the last ejection was over. */
  onProbation = false
  /**
   * What its traffic was lately, for the share of failures; forgotten when it is taken out. Only where it has siblings,
   * as {@link responses}.
   */
  readonly recent = new SlidingWindow(failureWindowMs)
  /**
   * The requests of the last minutes, and how many of them were answered with a 4xx: failures of the client's, if they
   * are as many elsewhere.
   */
  readonly responses = new SlidingWindow(responseWindowMs)
  lastProbe: ProbeResult | null = null
  /** What it has shown at handshakes; empty without TLS. */
  readonly certificates: EndpointCertificates
  /** When it came back from being down or ejected, on the monotonic clock; null: it was never out. */
  returnedAt: number | null = null

  constructor(certificates = new EndpointCertificates()) {
    this.certificates = certificates
  }

  /** Tells whether it must not be counted on: its health check fails, or its name does not resolve. */
  get isDown(): boolean {
    return this.down !== null || this.unresolved !== null
  }

  /** Whether every request has failed of late. It is sent to all the same: nothing else would find out that it is back. */
  get isFailing(): boolean {
    return this.failuresInARow >= failingThreshold
  }

  /** Counts it as healthy again. */
  markHealthy(): void {
    this.down = null
    this.failuresInARow = 0
    this.returnedAt = now()
  }

  /** Counts how a request ended, and of one that failed remembers why. */
  recordOutcome(outcome: AttemptOutcome, errorOrStatus: GatewayError | number): void {
    this.counts.requests++
    if (outcome === 'success') this.#recordSuccess()
    else if (outcome === 'failure') this.#recordFailure(errorOrStatus)
  }

  #recordSuccess(): void {
    this.succeededAt = epochMs()
    this.consecutiveFailures = 0
    this.failingSince = null
    this.failuresInARow = 0
  }

  #recordFailure(errorOrStatus: GatewayError | number): void {
    this.counts.failures++
    this.consecutiveFailures++
    this.failuresInARow++
    this.lastFailure = { at: epochMs(), errorOrStatus }
    this.failingSince ??= this.lastFailure.at
  }

  /**
   * Counts, for a comparison with its siblings, how a request ended that began at `startedAt`. False: it does not say
   * how the endpoint is now. Nor does what began before an ejection was over, or was sent meanwhile for want of any
   * better.
   */
  recordForComparison(outcome: AttemptOutcome, errorOrStatus: GatewayError | number, startedAt: number): boolean {
    if (outcome === 'nothing') return false
    const at = now()
    this.responses.record(typeof errorOrStatus === 'number' && errorOrStatus >= 400 && errorOrStatus < 500, at)
    if (this.ejection !== null && startedAt < this.ejection.until) return false
    this.recent.record(outcome === 'failure', at)
    return true
  }

  /**
   * Tells how many attempts a success takes of late, on the safe side: 1 when all go well, n + 1 after n that have
   * failed.
   */
  attemptsPerSuccessAt(at: number): number {
    const requests = this.recent.requests(at)
    if (requests > 0) return (requests + 1) / (requests + 1 - this.recent.failures(at))
    // Nothing came back: the last failure holds until something does, and silence for so long is one.
    return this.consecutiveFailures > 0 || this.latency.silenceAt(at) >= failureWindowMs ? 2 : 1
  }

  /** Tells whether traffic has taken it out, and that is not over. */
  isEjected(at: number = now()): boolean {
    return this.ejection !== null && at < this.ejection.until
  }

  /** Lets it in again, as if it had never been out: somebody who knows says so. */
  uneject(): void {
    if (this.isEjected()) this.returnedAt = now()
    this.ejection = null
    this.ejectionsInARow = 0
    this.consecutiveFailures = 0
    this.onProbation = false
  }

  /** Tells since when it is back, from being down or ejected, on the monotonic clock; null: it was never out, or is out. */
  recoveredAt(at: number = now()): number | null {
    if (this.ejection === null) return this.returnedAt
    if (at < this.ejection.until) return null
    return Math.max(this.returnedAt ?? this.ejection.until, this.ejection.until)
  }
}
