import type { GatewayError } from '../../exchange/failures/errors.ts'
import { epochMs, now, systemMs } from '../../lib/clock.ts'
import { type AttemptOutcome, PeakEwma, SlidingWindow } from '../attempt/attempt-outcome.ts'
import { EndpointCertificates } from '../endpoints/endpoint-certificates.ts'

export const failureWindowMs = 10_000

// Long enough for a canary with a tenth of little traffic to show a difference.
const responseWindowMs = 300_000

export interface ProbeResult {
  readonly at: number
  readonly latencyMs: number
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

/** Times are of the monotonic clock, but `since`. */
interface Ejection extends EndpointOutage {
  readonly startedAt: number
  readonly until: number
}

interface LastFailure {
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

/** Kept while the endpoint is open, across reloads. Times are in ms since the epoch, if no clock is named. */
export class EndpointHealth {
  latency: Readonly<PeakEwma> = new PeakEwma()
  counts = { ...emptyEndpointCounts }
  countedSince = now()
  /** Since the last success, for outlier detection, without requests that began before an ejection ended. */
  consecutiveFailures = 0
  succeededAt: number | null = null
  /** The first failure since the last success, without those that {@link markDown} forgives. */
  failingSince: number | null = null
  /** Since the last success, or since probes found the endpoint healthy again. */
  failuresInARow = 0
  drainingSince: number | null = null
  /** Drained by an operator's command: earlier requests are not sent either. */
  isDrainedByOperator = false
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
  onProbation = false
  /** By the configuration in use: requests of an earlier one may end later. Null: outlier detection is off. */
  judge: ((outcome: AttemptOutcome) => void) | null = null
  /** Cleared at an ejection. Recorded, as {@link responses}, only where there are siblings. */
  recent = new SlidingWindow(failureWindowMs)
  /** The last 5 minutes with 4xx as failures: the client's fault if siblings have a similar share. */
  responses = new SlidingWindow(responseWindowMs)
  lastProbe: ProbeResult | null = null
  readonly certificates: EndpointCertificates
  /** From being down or ejected; null: never out. Monotonic clock, as `countedSince`. */
  returnedAt: number | null = null

  constructor(certificates = new EndpointCertificates()) {
    this.certificates = certificates
  }

  /** Of the same endpoint with other connections; the state of its name and certificates stays. */
  continueFrom(before: EndpointHealth): void {
    const { unresolved, outdated, certificates, judge, isDrainedByOperator } = this
    Object.assign(this, before, { unresolved, outdated, certificates, judge, isDrainedByOperator })
  }

  get isDown(): boolean {
    return this.down !== null || this.unresolved !== null
  }

  /** It still gets traffic: nothing else would find out that it is back. */
  get isFailing(): boolean {
    return this.failuresInARow >= failingThreshold
  }

  /** A few failures while probes succeed are no part of the outage, unless they made the endpoint `failing`. */
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
    if (outcome === 'success') {
      this.succeededAt = epochMs()
      this.failingSince = null
      this.failuresInARow = 0
    } else if (outcome === 'failure') {
      this.counts.failures++
      this.failuresInARow++
      this.lastFailure = { at: epochMs(), systemAt: systemMs(), errorOrStatus }
      this.failingSince ??= this.lastFailure.at
    }
  }

  /** A request sent before an ejection ended shows no present state, even if sent for want of a better endpoint. */
  recordForComparison(outcome: AttemptOutcome, errorOrStatus: GatewayError | number, startedAt: number): void {
    if (outcome === 'nothing') return
    const at = now()
    this.responses.record(typeof errorOrStatus === 'number' && errorOrStatus >= 400 && errorOrStatus < 500, at)
    if (this.ejection !== null && startedAt < this.ejection.until) return
    this.recent.record(outcome === 'failure', at)
    this.consecutiveFailures = outcome === 'failure' ? this.consecutiveFailures + 1 : 0
    this.judge?.(outcome)
  }

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
