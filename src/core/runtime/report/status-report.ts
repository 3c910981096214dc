import type { ComparisonReport } from '../../../features/candidate/observe/comparison-report.ts'
import type { ShadowReport } from '../../../features/candidate/observe/shadow-counts.ts'
import type { DriftReport } from '../../../features/contract/drift-report.ts'
import { collectRejectedConnections, type RejectedConnectionsReport } from '../../../features/limits/process-load.ts'
import { byGroup, type Group, groups } from '../../../operations.ts'
import type { UpstreamConfig } from '../../config/config.ts'
import { type AttemptReport, toAttemptReport } from '../../exchange/failures/errors.ts'
import { now, toEpochMs } from '../../lib/clock.ts'
import type { ClientActivityReport } from '../../log/client-activity.ts'
import type { RequestMetricsReport } from '../../log/metrics/request-metrics.ts'
import type { ProcessStatsReport } from '../../log/process-stats.ts'
import type { RecentErrorsReport } from '../../log/recent-errors/recent-errors.ts'
import type { EndpointCertificate } from '../../upstream/endpoints/endpoint-certificates.ts'
import type { GroupEndpoint, GroupEndpointState } from '../../upstream/endpoints/group-endpoint.ts'
import type { CircuitBreaker } from '../../upstream/health/circuit-breaker.ts'
import type { EndpointCounts, EndpointOutage, ProbeResult } from '../../upstream/health/endpoint-health.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { CurrentSnapshot } from '../snapshot/current-snapshot.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { type CacheReport, collectCacheReport } from './cache-report.ts'
import { collectIdempotencyReport, type IdempotencyReport } from './idempotency-report.ts'
import { collectLimitsReport, type LimitsReport } from './limits-report.ts'
import { collectTokensReport, type TokensReport } from './tokens-report.ts'

/** What a process knows of its traffic and its upstreams, as plain data. Times are milliseconds since the epoch. */
export interface StatusReport {
  readonly upstreams: Readonly<Record<Group, UpstreamReport>>
  readonly limits: LimitsReport
  readonly tokens: TokensReport
  readonly cache: CacheReport | null
  /** Null: no operation has idempotency, or another process remembers. */
  readonly idempotency: IdempotencyReport | null
  readonly drift: DriftReport | null
  /** Null: metrics are off. */
  readonly requestMetrics: RequestMetricsReport | null
  readonly recentErrors: RecentErrorsReport
  /** What authenticated clients did of late. Null: clients do not authenticate. */
  readonly clients: ClientActivityReport | null
  /** The processes that serve, and the primary. */
  readonly runtimes: readonly ProcessReport[]
  /** Connections that were closed at once of late; empty: none. */
  readonly rejectedConnections: readonly RejectedConnectionsReport[]
  /** How many earlier snapshots still finish requests. */
  readonly retiring: number
}

export interface ProcessReport extends ProcessStatsReport {
  /** `gateway` when there is only one; else `primary`, or `worker-1` and so on. */
  readonly process: string
}

/** The reason why no client is served: the gateway still starts, its socket is closed, or no worker serves. */
export type NotServingReason = 'starting' | 'not-listening' | 'no-worker'

/** A worker: one of several processes that serve clients. */
export interface WorkerStatus {
  /** Counted from 1. A process that replaces another has its number. */
  readonly worker: number
  /** Null: there is no process. */
  readonly pid: number | null
  /**
   * `waiting`: it ended, and the pause before its next start is not over. `ended`: the gateway stops, so there is no
   * next one.
   */
  readonly state: 'starting' | 'serving' | 'draining' | 'not answering' | 'waiting' | 'ended'
  /** When the process was started, in ms since the epoch. Null: there is no process. */
  readonly startedAt: number | null
  /** When it last replied, in ms since the epoch. Null: it has not yet. */
  readonly heardAt: number | null
  /** How often a process with its number ended and was replaced. */
  readonly restarts: number
  /** Requests on their way to upstreams. Null: it did not reply. */
  readonly inFlight: number | null
  /** The hash of the configuration that it runs. Null: it runs none yet. */
  readonly config: string | null
}

/** One of the two upstreams that a group may have. */
export interface SideReport {
  readonly balance: UpstreamConfig['balance']
  readonly breaker: {
    readonly state: CircuitBreaker['state']
    readonly since: number
    /** How many of several workers are in that state: `in 1 of 2 workers`. Null: all. */
    readonly where: string | null
    /** When the outage that opened it began; it lasts until the breaker closes. Null: it is closed. */
    readonly outageSince: number | null
    /** The last failure of the upstream. Null: it is closed. */
    readonly lastFailure: AttemptReport | null
    /** For how long it stays open; of several workers, until the first one tries again. Null: it is not open. */
    readonly openForMs: number | null
  } | null
  readonly endpoints: readonly EndpointReport[]
}

export interface UpstreamReport extends SideReport {
  readonly retryBudget: { readonly left: number } | null
  readonly candidate: CandidateReport | null
}

export interface CandidateReport extends SideReport {
  /** What became of copies. Null: the file asks for none. */
  readonly shadow: ShadowReport | null
  /** How the candidate answers beside its primary. Null: it is not compared. */
  readonly comparison: ComparisonReport | null
}

export interface EndpointReport {
  readonly url: string
  readonly weight: number
  readonly inFlight: number
  /** Those of them that wait for a connection. */
  readonly pending: number
  readonly state: GroupEndpointState
  readonly lastProbe: ProbeResult | null
  readonly counts: EndpointCounts
  /** Since when they count, in milliseconds since the epoch. Those of a worker that has ended stay. */
  readonly countedSince: number
  readonly lastFailure: AttemptReport | null
  readonly succeededAt: number | null
  readonly failingSince: number | null
  /** How many have failed since then. */
  readonly failuresInARow: number
  /** Whether no request has succeeded since its last ejection; of several workers, in one of them. */
  readonly onProbation: boolean
  /** Since when, and why, its name does not resolve any more. Null: it does, or it is an address, or it never did. */
  readonly outdated: EndpointOutage | null
  /** The last certificate at each of its addresses. Empty: none was seen yet, or the endpoint has no TLS. */
  readonly certificates: readonly EndpointCertificate[]
  /** What is left of an ejection. Null: it is not ejected. */
  readonly ejectedForMs: number | null
  /** Null: nothing is known until there was a request. */
  readonly latencyMs: number | null
  /**
   * Of the last 5 minutes: the requests that tell how the endpoint does, and those with a 4xx response. None where the
   * group has one endpoint.
   */
  readonly recentResponses: { readonly requests: number; readonly clientErrors: number }
}

export const collectReport = ({ value: current, retiring }: CurrentSnapshot): StatusReport => ({
  upstreams: byGroup((group) => upstreamReport(current, group)),
  limits: collectLimitsReport(current),
  tokens: collectTokensReport(current),
  cache: collectCacheReport(current),
  idempotency: collectIdempotencyReport(current),
  drift: current.driftCounts?.report ?? null,
  requestMetrics: current.config.metrics && current.telemetry.requestMetrics.report,
  recentErrors: current.telemetry.recentErrors.report,
  clients: current.config.auth && current.telemetry.clientActivity.report,
  runtimes: [{ process: current.telemetry.process, ...current.telemetry.runtime.report }],
  rejectedConnections: collectRejectedConnections(current.processLoad.rejectedConnections),
  retiring,
})

export const countInFlight = ({ upstreams }: StatusReport): number =>
  groups
    .flatMap((group) => [...upstreams[group].endpoints, ...(upstreams[group].candidate?.endpoints ?? [])])
    .reduce((sum, { inFlight }) => sum + inFlight, 0)

const upstreamReport = (
  { config, upstreams, candidates, comparisons, retryBudgets, telemetry }: Snapshot,
  group: Group,
): UpstreamReport => {
  const retryBudget = retryBudgets[group]
  const candidate = candidates[group]
  return {
    ...sideReport(upstreams[group]),
    retryBudget: retryBudget === null ? null : { left: retryBudget.left },
    candidate: candidate && {
      ...sideReport(candidate),
      shadow: config.upstreams[group].candidate?.shadow ? telemetry.shadows[group].report : null,
      comparison: comparisons[group]?.report ?? null,
    },
  }
}

const sideReport = ({ members, balance, breaker }: Upstream): SideReport => ({
  balance,
  breaker: breaker && breakerReport(breaker),
  endpoints: members.map(endpointReport),
})

const breakerReport = ({
  state,
  since,
  outageSince,
  lastFailure,
  openForMs,
}: CircuitBreaker): SideReport['breaker'] => ({
  state,
  since,
  where: null,
  outageSince,
  lastFailure: state === 'closed' ? null : (lastFailure?.report ?? null),
  openForMs,
})

const endpointReport = ({
  endpoint: { name, inFlight, pool, health },
  weight,
  state,
}: GroupEndpoint): EndpointReport => {
  const at = now()
  const { counts, ejection, lastProbe, outdated, succeededAt, failingSince, failuresInARow, onProbation } = health
  return {
    url: name,
    weight,
    inFlight,
    pending: pool.pendingCount,
    state,
    lastProbe,
    counts: { ...counts },
    countedSince: toEpochMs(health.countedSince),
    lastFailure: health.lastFailure && toAttemptReport(name, health.lastFailure),
    succeededAt,
    failingSince,
    failuresInARow,
    onProbation,
    outdated,
    certificates: health.certificates.list,
    ejectedForMs: ejection !== null && health.isEjected(at) ? ejection.until - at : null,
    latencyMs: health.latency.isKnown ? health.latency.at(at) : null,
    recentResponses: { requests: health.responses.requests(at), clientErrors: health.responses.failures(at) },
  }
}
