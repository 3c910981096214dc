import { mergeComparisonReports } from '../../../features/candidate/observe/comparison-report.ts'
import { mergeDriftReports } from '../../../features/contract/drift-report.ts'
import { mergeRejectedConnections } from '../../../features/limits/process-load.ts'
import { byGroup } from '../../../operations.ts'
import type { AttemptReport } from '../../exchange/failures/errors.ts'
import { mergeClientActivity } from '../../log/client-activity.ts'
import { mergeRequestMetrics } from '../../log/metrics/request-metrics.ts'
import { mergeRecentErrors } from '../../log/recent-errors/recent-errors.ts'
import { pluck, sum, sumReports, workerShareText, worstWorker } from '../../log/sum-reports.ts'
import type { EndpointCertificate } from '../../upstream/endpoints/endpoint-certificates.ts'
import { type GroupEndpointState, toFailingState } from '../../upstream/endpoints/group-endpoint.ts'
import type { BreakerState } from '../../upstream/health/circuit-breaker.ts'
import { failingThreshold } from '../../upstream/health/endpoint-health.ts'
import { mergeCacheReports } from './cache-report.ts'
import { mergeIdempotencyReports } from './idempotency-report.ts'
import { mergeLimitsReports } from './limits-report.ts'
import { earliest, mergeOutageWindows } from './outage-window.ts'
import type { CandidateReport, EndpointReport, SideReport, StatusReport, UpstreamReport } from './status-report.ts'
import { mergeTokensReports } from './tokens-report.ts'

/**
 * Merges the reports of several processes that run the same configuration. The workers have the traffic, and the
 * primary the probes. Without a worker the report is the primary's.
 */
export const mergeReports = (primary: StatusReport, workers: readonly StatusReport[]): StatusReport => {
  if (workers.length === 0) return primary
  return {
    upstreams: byGroup((group) => mergeUpstream(primary.upstreams[group], pluck(pluck(workers, 'upstreams'), group))),
    limits: mergeLimitsReports(primary.limits, pluck(workers, 'limits')),
    tokens: mergeTokensReports(primary.tokens, pluck(workers, 'tokens')),
    cache: mergeCacheReports(primary.cache, pluck(workers, 'cache')),
    idempotency: mergeIdempotencyReports(primary.idempotency, pluck(workers, 'idempotency')),
    drift: primary.drift && mergeDriftReports(primary.drift.digest, pluck(workers, 'drift')),
    requestMetrics: primary.requestMetrics && mergeRequestMetrics(pluck(workers, 'requestMetrics')),
    recentErrors: mergeRecentErrors(pluck(workers, 'recentErrors')),
    clients: primary.clients && mergeClientActivity(pluck(workers, 'clients')),
    runtimes: [...primary.runtimes, ...workers.flatMap(({ runtimes }) => runtimes)],
    rejectedConnections: mergeRejectedConnections(
      [primary, ...workers].flatMap(({ rejectedConnections }) => rejectedConnections),
    ),
    // An edit leaves the same snapshot behind in each of them.
    retiring: Math.max(...pluck(workers, 'retiring')),
  }
}

const mergeUpstream = (primary: UpstreamReport, workers: readonly UpstreamReport[]): UpstreamReport => {
  const { retryBudget, candidate } = primary
  const candidates = pluck(workers, 'candidate')
  return {
    ...mergeSide(primary, workers),
    retryBudget: retryBudget && sumReports(retryBudget, pluck(workers, 'retryBudget')),
    // One that some workers do not know belongs to a reload that is just under way.
    candidate: candidate === null || candidates.length < workers.length ? null : mergeCandidate(candidate, candidates),
  }
}

const mergeCandidate = (primary: CandidateReport, workers: readonly CandidateReport[]): CandidateReport => ({
  ...mergeSide(primary, workers),
  shadow: primary.shadow && sumReports(primary.shadow, pluck(workers, 'shadow')),
  comparison:
    primary.comparison &&
    mergeComparisonReports(primary.comparison.digest, [primary.comparison, ...pluck(workers, 'comparison')]),
})

const mergeSide = ({ balance, breaker, endpoints }: SideReport, workers: readonly SideReport[]): SideReport => {
  const byUrl = workers.map((worker) => indexByUrl(worker.endpoints))
  return {
    balance,
    breaker: breaker && mergeBreakers(pluck(workers, 'breaker'), breaker),
    // An endpoint that some workers do not know belongs to a reload that is just under way.
    endpoints: [...indexByUrl(endpoints)].flatMap(([name, endpoint]) => {
      const found = byUrl.flatMap((index) => index.get(name) ?? [])
      return found.length < workers.length ? [] : [mergeEndpoint(endpoint, found)]
    }),
  }
}

const mergeEndpoint = (primary: EndpointReport, workers: readonly EndpointReport[]): EndpointReport => {
  const outcomes = mergeRequestOutcomes(workers)
  const ejectedForMs = pluck(workers, 'ejectedForMs')
  return {
    ...sumReports(primary, workers),
    countedSince: primary.countedSince,
    weight: primary.weight,
    state: mergeState(primary, workers, outcomes),
    lastProbe: primary.lastProbe,
    ...outcomes,
    onProbation: workers.some(({ onProbation }) => onProbation),
    outdated: pluck(workers, 'outdated').toSorted((a, b) => a.since - b.since)[0] ?? null,
    certificates: latestPerAddress([primary, ...workers].flatMap(({ certificates }) => certificates)),
    ejectedForMs: ejectedForMs.length === 0 ? null : Math.max(...ejectedForMs),
    latencyMs: weightedLatency(workers),
  }
}

const latestFailure = (workers: readonly Pick<EndpointReport, 'lastFailure'>[]): AttemptReport | null =>
  pluck(workers, 'lastFailure').toSorted((a, b) => b.at - a.at)[0] ?? null

type RequestOutcomes = Pick<EndpointReport, 'succeededAt' | 'failingSince' | 'failuresInARow' | 'lastFailure'>

/** Merges how requests went: requests that failed for one worker before another had a success have been made good. */
const mergeRequestOutcomes = (workers: readonly EndpointReport[]): RequestOutcomes => {
  const { succeededAt, failingSince } = mergeOutageWindows(workers)
  const failing = workers.filter((worker) => (worker.lastFailure?.at ?? 0) >= (succeededAt ?? 0))
  return {
    ...{ succeededAt, failingSince },
    failuresInARow: failingSince === null ? 0 : sum(pluck(failing, 'failuresInARow')),
    lastFailure: latestFailure(workers),
  }
}

/**
 * Finds the last certificate of each address, whichever process saw it: a process that has not connected since does not
 * know of a renewal.
 */
const latestPerAddress = (seen: readonly EndpointCertificate[]): readonly EndpointCertificate[] => [
  ...new Map(seen.toSorted((a, b) => a.seenAt - b.seenAt).map((each) => [each.address, each])).values(),
]

/**
 * Returns the worst state, so that an operator who decides by it does not count on an endpoint that some workers cannot
 * use.
 */
const mergeState = (
  { state }: EndpointReport,
  workers: readonly EndpointReport[],
  { lastFailure, ...outcomes }: RequestOutcomes,
): GroupEndpointState => {
  if (state.name === 'down' || state.name === 'draining') return state
  for (const name of ['down', 'ejected'] as const) {
    const out = workers.map((worker) => worker.state).filter((each) => each.name === name)
    const [first] = out.sort(byStartThenReason)
    if (first === undefined) continue
    const where = workerShareText(out.length, workers.length)
    return where === null ? first : { ...first, reason: `${first.reason} (${where})` }
  }
  const isFailing = outcomes.failuresInARow >= failingThreshold && lastFailure !== null
  return isFailing ? toFailingState({ ...outcomes, lastFailure }) : { name: 'up', since: null, reason: null }
}

/** Orders by the start, and then by the reason, so that the order of the workers decides nothing. */
const byStartThenReason = (a: GroupEndpointState, b: GroupEndpointState): number =>
  (a.since ?? 0) - (b.since ?? 0) || ((a.reason ?? '') < (b.reason ?? '') ? -1 : 1)

/** Weights the expected latency of each worker by how much it has seen. */
const weightedLatency = (workers: readonly EndpointReport[]): number | null => {
  const known = workers.flatMap(({ latencyMs, counts: { requests } }) =>
    latencyMs === null ? [] : [{ latencyMs, requests }],
  )
  const requests = sum(pluck(known, 'requests'))
  return requests === 0 ? null : sum(known.map((worker) => worker.latencyMs * worker.requests)) / requests
}

type BreakerReport = NonNullable<UpstreamReport['breaker']>

const breakerStatesWorstFirst: readonly BreakerState[] = ['open', 'half-open', 'closed']

const mergeBreakers = (breakers: readonly BreakerReport[], fallback: BreakerReport): BreakerReport => {
  const state = breakerStatesWorstFirst.find((each) => breakers.some((breaker) => breaker.state === each))
  const worst = worstWorker(breakers, (breaker) => breaker.state === state)
  if (worst === null) return fallback
  return {
    ...worst,
    // Where the breaker of one worker is closed, requests go through.
    outageSince: breakers.some(({ outageSince }) => outageSince === null)
      ? null
      : earliest(pluck(breakers, 'outageSince')),
    lastFailure: latestFailure(breakers),
    openForMs: earliest(pluck(breakers, 'openForMs')),
  }
}

/** Keys each endpoint by its URL and a number: a group may list a URL twice. */
const indexByUrl = (endpoints: readonly EndpointReport[]): ReadonlyMap<string, EndpointReport> => {
  const counts = new Map<string, number>()
  return new Map(
    endpoints.map((endpoint) => {
      const count = counts.get(endpoint.url) ?? 0
      counts.set(endpoint.url, count + 1)
      return [`${count} ${endpoint.url}`, endpoint]
    }),
  )
}
