import { byGroup, type Group, groups } from '../catalog.ts'
import { now } from '../clock.ts'
import type { UpstreamConfig } from '../config/config.ts'
import { type AttemptReport, attemptReport } from '../failures/errors.ts'
import type { MeterReport } from '../observe/metrics/meter.ts'
import type { RefusalsReport } from '../observe/refusals/refusals.ts'
import type { RuntimeReport } from '../observe/runtime.ts'
import type { CircuitBreaker } from '../upstream/breaker.ts'
import type { SeenCertificate } from '../upstream/certificates.ts'
import type { Member, MemberState } from '../upstream/member.ts'
import type { EndpointCounts, Outage, Probe } from '../upstream/standing.ts'
import { type CacheReport, reportOnCache } from './cache-report.ts'
import { type LimitsReport, reportOnLimits } from './limits-report.ts'
import type { Live } from './live.ts'
import { reportOnTurnedAway, type TurnedAwayReport } from './pressure.ts'
import type { Snapshot } from './snapshot.ts'
import { reportOnTokens, type TokensReport } from './tokens-report.ts'

/** Is what a process knows of its traffic and of what stands behind it, as plain data. Times are milliseconds since the epoch. */
export interface Report {
  readonly upstreams: Readonly<Record<Group, UpstreamReport>>
  readonly limits: LimitsReport
  readonly tokens: TokensReport
  readonly cache: CacheReport | null
  /** What was counted; null: nothing is. */
  readonly meter: MeterReport | null
  readonly refusals: RefusalsReport
  /** How the processes do that serve, and that which has them do so. */
  readonly runtimes: readonly ProcessReport[]
  /** Connections that were closed at once of late; empty: none. */
  readonly turnedAway: readonly TurnedAwayReport[]
  /** How many earlier snapshots still finish requests. */
  readonly retiring: number
}

/** Is how one process does. */
export interface ProcessReport extends RuntimeReport {
  /** `gateway` when there is but one; else `primary`, or `worker-1` and so on. */
  readonly process: string
}

/** Why no client is served: none is yet, the listening socket is closed, or no worker serves. */
export type NotServing = 'starting' | 'not-listening' | 'no-worker'

/** Is a worker: one of several processes that serve clients. */
export interface WorkerState {
  /** Counted from 1; a process that replaces another has its number. */
  readonly worker: number
  /** Null: there is none. */
  readonly pid: number | null
  /** `waiting`: it ended, and the pause before its next start is not over. `ended`: the gateway stops, so there is no next one. */
  readonly state: 'starting' | 'serving' | 'draining' | 'not answering' | 'waiting' | 'ended'
  /** When the process was started, in ms since the epoch; null: there is none. */
  readonly startedAt: number | null
  /** How often a process with its number ended and was replaced. */
  readonly restarts: number
  /** Requests on their way to upstreams; null: it did not say. */
  readonly inFlight: number | null
  /** The hash of the configuration that it runs; null: it runs none yet. */
  readonly config: string | null
}

/** Is what stands behind a group. */
export interface UpstreamReport {
  readonly balance: UpstreamConfig['balance']
  readonly breaker: {
    readonly state: CircuitBreaker['state']
    readonly since: number
    /** In which of several workers it stands so: `in 1 of 2 workers`; null: in all. */
    readonly where: string | null
    /** When what opened it began: it lasts until it is closed. Null: it is closed. */
    readonly outageSince: number | null
    /** What the upstream failed last; null: it is closed. */
    readonly lastFailure: AttemptReport | null
  } | null
  readonly retryBudget: { readonly left: number } | null
  readonly endpoints: readonly EndpointReport[]
}

/** Is an endpoint in its place behind a group. */
export interface EndpointReport {
  readonly url: string
  readonly weight: number
  readonly inFlight: number
  readonly state: MemberState
  readonly lastProbe: Probe | null
  readonly counts: EndpointCounts
  /** Null: none has failed. */
  readonly lastFailure: AttemptReport | null
  /** When a request last went well; null: none has. */
  readonly succeededAt: number | null
  /** When the first request failed since then; null: none has. */
  readonly failingSince: number | null
  /** How many have failed since then. */
  readonly failuresInARow: number
  /** Since when, and why, its name does not resolve any more; null: it does, or is none, or never did. */
  readonly outdated: Outage | null
  /** What it showed last at each of its addresses; empty: nothing yet, or it is spoken to without TLS. */
  readonly certificates: readonly SeenCertificate[]
  /** What is left of an ejection; null: it is not ejected. */
  readonly ejectedForMs: number | null
  /** Null: until there was a request, nothing is known. */
  readonly latencyMs: number | null
  /**
   * Of the last 5 minutes: requests that say something of the endpoint, and those answered with a 4xx; none where it
   * has no siblings.
   */
  readonly answers: { readonly requests: number; readonly clientErrors: number }
}

/** Reports on the snapshot that is live. */
export const reportOn = ({ current, retiring }: Live): Report => ({
  upstreams: byGroup((group) => upstream(current, group)),
  limits: reportOnLimits(current),
  tokens: reportOnTokens(current),
  cache: reportOnCache(current),
  meter: current.config.metrics && current.observation.meter.report,
  refusals: current.observation.refusals.report,
  runtimes: [{ process: current.observation.process, ...current.observation.runtime.report }],
  turnedAway: reportOnTurnedAway(current.pressure.turnedAway),
  retiring,
})

/** Counts the requests on their way to upstreams. */
export const inFlightOf = ({ upstreams }: Report): number =>
  groups.flatMap((group) => upstreams[group].endpoints).reduce((sum, { inFlight }) => sum + inFlight, 0)

const upstream = ({ upstreams, budgets }: Snapshot, group: Group): UpstreamReport => {
  const { members, balance, breaker } = upstreams[group]
  const budget = budgets[group]
  return {
    balance,
    breaker: breaker && breakerReport(breaker),
    retryBudget: budget === null ? null : { left: budget.left },
    endpoints: members.map(endpoint),
  }
}

const breakerReport = ({ state, since, outageSince, lastFailure }: CircuitBreaker): UpstreamReport['breaker'] => ({
  state,
  since,
  where: null,
  outageSince,
  lastFailure: state === 'closed' ? null : (lastFailure?.report ?? null),
})

const endpoint = ({ endpoint: { name, inFlight, standing }, weight, state }: Member): EndpointReport => {
  const at = now()
  const { counts, ejection, lastProbe, outdated, succeededAt, failingSince, failuresInARow } = standing
  return {
    url: name,
    weight,
    inFlight,
    state,
    lastProbe,
    counts: { ...counts },
    lastFailure: standing.lastFailure && attemptReport(name, standing.lastFailure),
    succeededAt,
    failingSince,
    failuresInARow,
    outdated,
    certificates: standing.certificates.seen,
    ejectedForMs: ejection !== null && standing.isEjected(at) ? ejection.until - at : null,
    latencyMs: counts.requests === 0 ? null : standing.latency.at(at),
    answers: { requests: standing.answers.requests(at), clientErrors: standing.answers.failures(at) },
  }
}
