import type { GatewayError } from '../../exchange/failures/errors.ts'
import { epochMs, now, systemMs } from '../../lib/clock.ts'
import { type AttemptOutcome, PeakEwma, SlidingWindow } from '../attempt/attempt-outcome.ts'
import { EndpointCertificates } from '../endpoints/endpoint-certificates.ts'

/** How long requests count for the share of failures. */
export const failureWindowMs = 10_000

// Long enough for a canary with a tenth of little traffic to show a difference.
const responseWindowMs = 300_000

export interface ProbeResult {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly latencyMs: number
  /** Null: the probe failed. */
  readonly status: number | null
  /** Null: the probe succeeded. */
  readonly reason: string | null
}

/** `since` is in ms since the epoch. */
export interface EndpointOutage {
  readonly since: number
  readonly reason: string
}

export interface HealthCheckOutage extends EndpointOutage {
  /** When a probe last succeeded, on the system's monotonic clock; null: never. */
  readonly wellAt: number | null
}

/** Times are of the monotonic clock, except `since`. */
interface Ejection extends EndpointOutage {
  readonly startedAt: number
  readonly until: number
}

/** By the endpoint's fault. */
interface LastFailure {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** On the system's monotonic clock: another process compares its probes with it. */
  readonly systemAt: number
  /** Or the status of a response that counts as a failure. */
  readonly errorOrStatus: GatewayError | number
}

/** The default of outlier detection. Fewer failures are a hiccup, or connections closed by a restart. */
export const failingThreshold = 5

/** Since the gateway has known the endpoint; workers' counts add up. */
export const emptyEndpointCounts = {
  requests: 0,
  /** By the endpoint's fault. */
  failures: 0,
  ejections: 0,
}

export type EndpointCounts = Readonly<typeof emptyEndpointCounts>

/** Kept for as long as the endpoint is open, across reloads. */
export class EndpointHealth {
  latency = new PeakEwma()
  counts: { -readonly [Name in keyof EndpointCounts]: number } = { ...emptyEndpointCounts }
  /** On the monotonic clock. */
  countedSince = now()
  /**
   * Failures since the last success, for outlier detection. Requests that began before an ejection ended do not count.
   * Recorded only where there are siblings.
   */
  consecutiveFailures = 0
  /** In ms since the epoch; null: never. */
  succeededAt: number | null = null
  /** The first failure since the last success, in ms since the epoch, without those that {@link markDown} forgives. */
  failingSince: number | null = null
  /** Since the last success, or since probes found the endpoint healthy again. */
  failuresInARow = 0
  /** In ms since the epoch; null: not draining. */
  drainingSince: number | null = null
  /** Drained by an operator's command: earlier requests are not sent either. */
  isDrainedByOrder = false
  /** Set by health checks; null: up, or not probed. */
  down: HealthCheckOutage | null = null
  /** Set while the name does not resolve and no address is known. */
  unresolved: EndpointOutage | null = null
  /** Set while the name no longer resolves; the last addresses stay in use. */
  outdated: EndpointOutage | null = null
  lastFailure: LastFailure | null = null
  /** May be over: see {@link isEjected}. */
  ejection: Ejection | null = null
  /** Ejections in close succession, the last included. */
  ejectionsInARow = 0
  /** Whether no request has succeeded since the last ejection ended. */
  onProbation = false
  /** By the configuration in use: requests of an earlier one may end later. Null: outlier detection is off. */
  judge: ((outcome: AttemptOutcome) => void) | null = null
  /** Cleared at an ejection. Recorded, as {@link responses}, only where there are siblings. */
  recent = new SlidingWindow(failureWindowMs)
  /** The last 5 minutes with 4xx as failures: the client's fault if siblings have as many. */
  responses = new SlidingWindow(responseWindowMs)
  lastProbe: ProbeResult | null = null
  /** Empty without TLS. */
  readonly certificates: EndpointCertificates
  /** From being down or ejected (monotonic clock); null: never out. */
  returnedAt: number | null = null

  constructor(certificates = new EndpointCertificates()) {
    this.certificates = certificates
  }

  /**
   * Takes over the health of the same endpoint with other connections, except the state of its name and certificates.
   */
  continueFrom(before: EndpointHealth): void {
    const { unresolved, outdated, certificates, judge, isDrainedByOrder } = this
    Object.assign(this, before, { unresolved, outdated, certificates, judge, isDrainedByOrder })
  }

  get isDown(): boolean {
    return this.down !== null || this.unresolved !== null
  }

  /** It still gets traffic: nothing else would find out that it is back. */
  get isFailing(): boolean {
    return this.failuresInARow >= failingThreshold
  }

  /**
   * A few requests that failed while probes still succeeded are not part of the outage. If they make the endpoint
   * `failing`, they are: the probes do not show how requests fare.
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
   * Counts and judges an outcome among siblings. A request that began before an ejection ended does not show the
   * present state, nor does one sent during it for want of a better endpoint.
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

  /** 1 when all succeed, n + 1 after n failures alone. */
  attemptsPerSuccessAt(at: number): number {
    const requests = this.recent.requests(at)
    if (requests > 0) return (requests + 1) / (requests + 1 - this.recent.failures(at))
    // The last failure holds until a response comes, and such a long silence counts as a failure.
    return this.consecutiveFailures > 0 || this.latency.silenceAt(at) >= failureWindowMs ? 2 : 1
  }

  isEjected(at: number = now()): boolean {
    return this.ejection !== null && at < this.ejection.until
  }

  /** The next ejection counts as the first. */
  uneject(): void {
    const at = now()
    if (this.isEjected(at)) this.returnedAt = at
    // Requests that began before now do not show the present state.
    if (this.ejection !== null) this.ejection = { ...this.ejection, until: Math.min(this.ejection.until, at) }
    this.ejectionsInARow = 0
    this.consecutiveFailures = 0
    this.onProbation = false
  }

  /** On the monotonic clock; null: never out, or still out. */
  recoveredAt(at: number = now()): number | null {
    if (this.ejection === null) return this.returnedAt
    if (at < this.ejection.until) return null
    return Math.max(this.returnedAt ?? this.ejection.until, this.ejection.until)
  }
}
