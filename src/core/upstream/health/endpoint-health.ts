import type { GatewayError } from '../../exchange/failures/errors.ts'
import { epochMs, now, systemMs } from '../../lib/clock.ts'
import { type AttemptOutcome, PeakEwma, SlidingWindow } from '../attempt/attempt-outcome.ts'
import { EndpointCertificates } from '../endpoints/endpoint-certificates.ts'

export const failureWindowMs = 10_000

// With little traffic, a canary with a tenth of it needs this long to show a difference.
const responseWindowMs = 300_000

export interface ProbeResult {
  readonly at: number
  readonly latencyMs: number
  readonly status: number | null
  readonly reason: string | null
}

export interface EndpointOutage {
  readonly since: number
  readonly reason: string
}

export interface HealthCheckOutage extends EndpointOutage {
  /** The last successful probe, on the system's monotonic clock; null: none. */
  readonly wellAt: number | null
}

/** Times are of the monotonic clock, except `since`. */
interface Ejection extends EndpointOutage {
  readonly startedAt: number
  readonly until: number
}

interface LastFailure {
  readonly at: number
  /** On the system's monotonic clock, with which another process compares its probes. */
  readonly systemAt: number
  readonly errorOrStatus: GatewayError | number
}

/** Fewer failures are a hiccup, or connections closed by a restart. */
export const failingThreshold = 5

export const emptyEndpointCounts = {
  requests: 0,
  failures: 0,
  ejections: 0,
}

/** Kept across reloads while the endpoint is open. Times are in ms since the epoch unless a clock is named. */
export class EndpointHealth {
  latency: Readonly<PeakEwma> = new PeakEwma()
  counts = { ...emptyEndpointCounts }
  countedSince = now()
  /** Without requests that began before an ejection ended. */
  consecutiveFailures = 0
  succeededAt: number | null = null
  /** The first failure since the last success, without those that {@link markDown} forgives. */
  failingSince: number | null = null
  /** Since the last success or recovery by probes. */
  failuresInARow = 0
  drainingSince: number | null = null
  /** Requests that began earlier are not sent either. */
  isDrainedByOperator = false
  down: HealthCheckOutage | null = null
  /** The name does not resolve, and no address is known. */
  unresolved: EndpointOutage | null = null
  /** The name no longer resolves; the last addresses stay in use. */
  outdated: EndpointOutage | null = null
  lastFailure: LastFailure | null = null
  ejection: Ejection | null = null
  ejectionsInARow = 0
  onProbation = false
  /** Null: outlier detection is off. */
  judge: ((outcome: AttemptOutcome) => void) | null = null
  /** Cleared at an ejection. As {@link responses}, recorded only for endpoints with siblings. */
  recent = new SlidingWindow(failureWindowMs)
  /** The last 5 minutes with 4xx as failures, which are the clients' fault if siblings have a similar share. */
  responses = new SlidingWindow(responseWindowMs)
  lastProbe: ProbeResult | null = null
  readonly certificates: EndpointCertificates
  /** On the monotonic clock, as `countedSince`. Null: never out. */
  returnedAt: number | null = null

  constructor(certificates = new EndpointCertificates()) {
    this.certificates = certificates
  }

  /** The state of the name and of the certificates is new. */
  continueFrom(before: EndpointHealth): void {
    const { unresolved, outdated, certificates, judge, isDrainedByOperator } = this
    Object.assign(this, before, { unresolved, outdated, certificates, judge, isDrainedByOperator })
  }

  get isDown(): boolean {
    return this.down !== null || this.unresolved !== null
  }

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

  /** A request sent before an ejection ended does not show the present state. */
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
    return this.consecutiveFailures > 0 || this.latency.silenceAt(at) >= failureWindowMs ? 2 : 1
  }

  isEjected(at: number = now()): boolean {
    return this.ejection !== null && at < this.ejection.until
  }

  uneject(): void {
    const at = now()
    if (this.isEjected(at)) this.returnedAt = at
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
