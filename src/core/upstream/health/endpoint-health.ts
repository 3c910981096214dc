import type { GatewayError } from '../../exchange/failures/errors.ts'
import { epochMs, now, systemMs } from '../../lib/clock.ts'
import { type AttemptOutcome, PeakEwma, SlidingWindow } from '../attempt/attempt-outcome.ts'
import { EndpointCertificates } from '../endpoints/endpoint-certificates.ts'

// For how long the share of failures is remembered.
/** The time in which requests are counted for the share of failures. */
export const failureWindowMs = 10_000

// Long enough for a canary with a tenth of little traffic to show how it differs.
const responseWindowMs = 300_000

export interface ProbeResult {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly latencyMs: number
  /** The status of a probe that succeeded. Null: it failed, and the reason says how. */
  readonly status: number | null
  /** Null: it succeeded. */
  readonly reason: string | null
}

/** Why an endpoint is out, and since when (milliseconds since the epoch). */
export interface EndpointOutage {
  readonly since: number
  readonly reason: string
}

export interface HealthCheckOutage extends EndpointOutage {
  /** When a probe last succeeded, on the monotonic clock of the system; null: none has. */
  readonly wellAt: number | null
}

/** An outage that ends by itself. Times are of the monotonic clock, except `since`. */
interface Ejection extends EndpointOutage {
  readonly startedAt: number
  readonly until: number
}

/** The last request that failed by the endpoint's fault. */
interface LastFailure {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The same on the monotonic clock of the system: another process compares its probes with it. */
  readonly systemAt: number
  /** The failure, or the status of a response that counts as one. */
  readonly errorOrStatus: GatewayError | number
}

/**
 * The number of failures without a success between them that make an endpoint `failing`: as many as outlier detection
 * ejects for by default. One is a hiccup, and a few are the connections that a restart closes.
 */
export const failingThreshold = 5

/** The counts of an endpoint since the gateway has known it, all 0. Those of several workers add up. */
export const emptyEndpointCounts = {
  /** Requests that have ended. */
  requests: 0,
  /** Requests that failed by the endpoint's fault. */
  failures: 0,
  ejections: 0,
}

/** They never decrease. */
export type EndpointCounts = Readonly<typeof emptyEndpointCounts>

/**
 * What is known of an endpoint from its traffic and from probes. It is kept for as long as the endpoint is open, over
 * every reload; the policies of the upstream decide by it.
 */
export class EndpointHealth {
  latency = new PeakEwma()
  counts: { -readonly [Name in keyof EndpointCounts]: number } = { ...emptyEndpointCounts }
  /** Since when they count, on the monotonic clock. */
  countedSince = now()
  /**
   * Failures since the last success, or the last ejection, of requests that show how it is now: what outlier detection
   * counts. Recorded only where it has siblings.
   */
  consecutiveFailures = 0
  /** When a request last succeeded, in ms since the epoch; null: none has. */
  succeededAt: number | null = null
  /** When the first request failed since then that {@link markDown} does not leave out, in ms since the epoch. */
  failingSince: number | null = null
  /** Failures since then, or since probes found the endpoint healthy again. */
  failuresInARow = 0
  /** Since when it gets no new requests by order or by the file, in ms since the epoch; null: it gets some. */
  drainingSince: number | null = null
  /** Whether an operator's order drains it: then it gets nothing of requests either that began before. */
  isDrainedByOrder = false
  /** Set by a health check that fails; null: up, or not probed. */
  down: HealthCheckOutage | null = null
  /** Set when its name does not resolve. */
  unresolved: EndpointOutage | null = null
  /** Set when its name no longer resolves; its last addresses stay in use. */
  outdated: EndpointOutage | null = null
  lastFailure: LastFailure | null = null
  /** Set by outlier detection. It may be over, which the reader checks: {@link isEjected}. */
  ejection: Ejection | null = null
  /** Ejections that followed each other closely, the last included. */
  ejectionsInARow = 0
  /** Whether no request has succeeded since the last ejection ended. */
  onProbation = false
  /**
   * Judges it by how a request ended, as the configuration in use says: requests of an earlier one may still end after
   * an edit. Null: outlier detection is off.
   */
  judge: ((outcome: AttemptOutcome) => void) | null = null
  /**
   * Its recent traffic, for the share of failures; forgotten at an ejection. Recorded only where it has siblings, as
   * {@link responses}.
   */
  recent = new SlidingWindow(failureWindowMs)
  /**
   * The requests of the last minutes, with the 4xx responses among them: failures of the client's, if siblings have as
   * many.
   */
  responses = new SlidingWindow(responseWindowMs)
  lastProbe: ProbeResult | null = null
  /** The certificates of its handshakes; empty without TLS. */
  readonly certificates: EndpointCertificates
  /** When it came back from being down or ejected, on the monotonic clock; null: it was never out. */
  returnedAt: number | null = null

  constructor(certificates = new EndpointCertificates()) {
    this.certificates = certificates
  }

  /**
   * Goes on from the health of the same endpoint with other connections, which these replace: it is as well as it was.
   * What is known of its name and its certificates is of the connections, and is not taken over.
   */
  continueFrom(before: EndpointHealth): void {
    const { unresolved, outdated, certificates, judge, isDrainedByOrder } = this
    Object.assign(this, before, { unresolved, outdated, certificates, judge, isDrainedByOrder })
  }

  /** Whether it must not be counted on: its health check fails, or its name does not resolve. */
  get isDown(): boolean {
    return this.down !== null || this.unresolved !== null
  }

  /**
   * Whether every recent request has failed. It gets traffic all the same: nothing else would find out that it is back.
   */
  get isFailing(): boolean {
    return this.failuresInARow >= failingThreshold
  }

  /**
   * Marks it as down. A few requests that failed while probes went on succeeding are no part of that outage. As many as
   * make it `failing` are: then the probes do not show how requests fare.
   */
  markDown(down: HealthCheckOutage): void {
    this.down = down
    if (!this.isFailing && this.lastFailure !== null && this.lastFailure.systemAt < (down.wellAt ?? 0))
      this.failingSince = null
  }

  markHealthy(): void {
    this.down = null
    this.failuresInARow = 0
    this.returnedAt = now()
  }

  recordOutcome(outcome: AttemptOutcome, errorOrStatus: GatewayError | number): void {
    this.counts.requests++
    if (outcome === 'success') this.#recordSuccess()
    else if (outcome === 'failure') this.#recordFailure(errorOrStatus)
  }

  #recordSuccess(): void {
    this.succeededAt = epochMs()
    this.failingSince = null
    this.failuresInARow = 0
  }

  #recordFailure(errorOrStatus: GatewayError | number): void {
    this.counts.failures++
    this.failuresInARow++
    this.lastFailure = { at: epochMs(), systemAt: systemMs(), errorOrStatus }
    this.failingSince ??= this.lastFailure.at
  }

  /**
   * Counts, for a comparison with its siblings, how a request ended that began at `startedAt`, and judges the endpoint
   * by it. A request that began before an ejection ended does not show how the endpoint is now, nor does one that was
   * sent meanwhile for want of a better endpoint.
   */
  recordForComparison(outcome: AttemptOutcome, errorOrStatus: GatewayError | number, startedAt: number): void {
    if (outcome === 'nothing') return
    const at = now()
    this.responses.record(typeof errorOrStatus === 'number' && errorOrStatus >= 400 && errorOrStatus < 500, at)
    if (this.ejection !== null && startedAt < this.ejection.until) return
    this.recent.record(outcome === 'failure', at)
    this.consecutiveFailures = outcome === 'failure' ? this.consecutiveFailures + 1 : 0
    this.judge?.(outcome)
  }

  /**
   * Returns the recent number of attempts for a success, on the safe side: 1 when all succeed, n + 1 after n that have
   * failed.
   */
  attemptsPerSuccessAt(at: number): number {
    const requests = this.recent.requests(at)
    if (requests > 0) return (requests + 1) / (requests + 1 - this.recent.failures(at))
    // Nothing came back: the last failure holds until something does, and so long a silence counts as one.
    return this.consecutiveFailures > 0 || this.latency.silenceAt(at) >= failureWindowMs ? 2 : 1
  }

  /** Returns whether outlier detection has ejected it, and the ejection is not over. */
  isEjected(at: number = now()): boolean {
    return this.ejection !== null && at < this.ejection.until
  }

  /** Ends an ejection. The next one is the first again. */
  uneject(): void {
    const at = now()
    if (this.isEjected(at)) this.returnedAt = at
    // Requests that began before its end do not show how the endpoint is now.
    if (this.ejection !== null) this.ejection = { ...this.ejection, until: Math.min(this.ejection.until, at) }
    this.ejectionsInARow = 0
    this.consecutiveFailures = 0
    this.onProbation = false
  }

  /**
   * Returns since when it is back from being down or ejected, on the monotonic clock; null: it was never out, or is
   * out.
   */
  recoveredAt(at: number = now()): number | null {
    if (this.ejection === null) return this.returnedAt
    if (at < this.ejection.until) return null
    return Math.max(this.returnedAt ?? this.ejection.until, this.ejection.until)
  }
}
