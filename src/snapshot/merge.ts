import { type Group, groups } from '../catalog.ts'
import type { AttemptReport } from '../failures/errors.ts'
import { added, sum } from '../observe/added.ts'
import { addMeters } from '../observe/metrics/meter.ts'
import { mergeRefusals } from '../observe/refusals/refusals.ts'
import type { BreakerState } from '../upstream/breaker.ts'
import type { SeenCertificate } from '../upstream/certificates.ts'
import { failing, type MemberState } from '../upstream/member.ts'
import { failingAfter } from '../upstream/standing.ts'
import { mergeCaches } from './cache-report.ts'
import { mergeLimits } from './limits-report.ts'
import { earliest, outageOf } from './outage.ts'
import { mergeTurnedAway } from './pressure.ts'
import type { EndpointReport, Report, UpstreamReport } from './report.ts'
import { mergeTokens } from './tokens-report.ts'
import { inWorkers, worstOf } from './worst.ts'

/**
 * Makes one report of several processes that run the same configuration: the traffic is the workers', who alone have any, and what probes
 * found is the primary's, who alone probes. Without a worker it is the primary's.
 */
export const mergeReports = (primary: Report, workers: readonly Report[]): Report => {
  if (workers.length === 0) return primary
  const merged = (group: Group): UpstreamReport =>
    mergeUpstream(
      primary.upstreams[group],
      workers.map(({ upstreams }) => upstreams[group]),
    )
  return {
    upstreams: Object.fromEntries(groups.map((group) => [group, merged(group)])) as Report['upstreams'],
    limits: mergeLimits(
      primary.limits,
      workers.map(({ limits }) => limits),
    ),
    tokens: mergeTokens(
      primary.tokens,
      workers.map(({ tokens }) => tokens),
    ),
    cache: mergeCaches(
      primary.cache,
      workers.flatMap(({ cache }) => cache ?? []),
    ),
    meter: primary.meter && addMeters(workers.flatMap(({ meter }) => meter ?? [])),
    refusals: mergeRefusals(workers.map(({ refusals }) => refusals)),
    runtimes: [...primary.runtimes, ...workers.flatMap(({ runtimes }) => runtimes)],
    turnedAway: mergeTurnedAway([primary, ...workers].flatMap(({ turnedAway }) => turnedAway)),
    retiring: sum(workers.map(({ retiring }) => retiring)),
  }
}

const mergeUpstream = (
  { balance, breaker, retryBudget, endpoints }: UpstreamReport,
  workers: readonly UpstreamReport[],
): UpstreamReport => {
  const known = workers.map((worker) => byName(worker.endpoints))
  return {
    balance,
    breaker:
      breaker === null
        ? null
        : mergeBreakers(
            workers.flatMap((worker) => worker.breaker ?? []),
            breaker,
          ),
    retryBudget:
      retryBudget &&
      added(
        retryBudget,
        workers.flatMap((worker) => worker.retryBudget ?? []),
      ),
    // One that not all know belongs to a reload that is just under way.
    endpoints: [...byName(endpoints)].flatMap(([name, endpoint]) => {
      const places = known.flatMap((places) => places.get(name) ?? [])
      return places.length < workers.length ? [] : [mergeEndpoint(endpoint, places)]
    }),
  }
}

const mergeEndpoint = (primary: EndpointReport, workers: readonly EndpointReport[]): EndpointReport => {
  const course = courseOf(workers)
  const ejectedForMs = workers.flatMap((worker) => worker.ejectedForMs ?? [])
  return {
    ...added(primary, workers),
    weight: primary.weight,
    state: stateOf(primary, workers, course),
    lastProbe: primary.lastProbe,
    ...course,
    outdated: workers.flatMap(({ outdated }) => outdated ?? []).sort((a, b) => a.since - b.since)[0] ?? null,
    certificates: lastOfEach([primary, ...workers].flatMap(({ certificates }) => certificates)),
    ejectedForMs: ejectedForMs.length === 0 ? null : Math.max(...ejectedForMs),
    latencyMs: latencyOf(workers),
  }
}

const lastOf = (failed: readonly (AttemptReport | null)[]): AttemptReport | null =>
  failed.flatMap((each) => each ?? []).sort((a, b) => b.at - a.at)[0] ?? null

type CourseReport = Pick<EndpointReport, 'succeededAt' | 'failingSince' | 'failuresInARow' | 'lastFailure'>

/** Puts together how requests went: those that failed for one worker before another was served have been made good. */
const courseOf = (workers: readonly EndpointReport[]): CourseReport => {
  const { succeededAt, failingSince } = outageOf(workers)
  const failing = workers.filter((worker) => (worker.lastFailure?.at ?? 0) >= (succeededAt ?? 0))
  return {
    ...{ succeededAt, failingSince },
    failuresInARow: failingSince === null ? 0 : sum(failing.map(({ failuresInARow }) => failuresInARow)),
    lastFailure: lastOf(workers.map(({ lastFailure }) => lastFailure)),
  }
}

/** Finds what each address showed last, to whichever process: one that has not connected since knows of a certificate that was renewed. */
const lastOfEach = (seen: readonly SeenCertificate[]): readonly SeenCertificate[] => [
  ...new Map(seen.toSorted((a, b) => a.seenAt - b.seenAt).map((each) => [each.address, each])).values(),
]

/** Says the worst that is known, so that whoever decides by it does not count on an endpoint that some workers cannot use. */
const stateOf = (
  { state }: EndpointReport,
  workers: readonly EndpointReport[],
  { lastFailure, ...course }: CourseReport,
): MemberState => {
  if (state.name === 'down' || state.name === 'draining') return state
  for (const name of ['down', 'ejected'] as const) {
    const out = workers.map((worker) => worker.state).filter((theirs) => theirs.name === name)
    const [first] = out.sort(earlier)
    if (first === undefined) continue
    const where = inWorkers(out.length, workers.length)
    return where === null ? first : { ...first, reason: `${first.reason} (${where})` }
  }
  const isFailing = course.failuresInARow >= failingAfter && lastFailure !== null
  return isFailing ? failing({ ...course, lastFailure }) : { name: 'up', since: null, reason: null }
}

/** Orders by the beginning; what began at once by the reason, so that the workers' order tells nothing. */
const earlier = (a: MemberState, b: MemberState): number =>
  (a.since ?? 0) - (b.since ?? 0) || ((a.reason ?? '') < (b.reason ?? '') ? -1 : 1)

/** Is what each worker expects, by how much it has seen. */
const latencyOf = (workers: readonly EndpointReport[]): number | null => {
  const known = workers.flatMap(({ latencyMs, counts: { requests } }) =>
    latencyMs === null ? [] : [{ latencyMs, requests }],
  )
  const requests = sum(known.map((worker) => worker.requests))
  return requests === 0 ? null : sum(known.map((worker) => worker.latencyMs * worker.requests)) / requests
}

type BreakerReport = NonNullable<UpstreamReport['breaker']>

const worstFirst: readonly BreakerState[] = ['open', 'half-open', 'closed']

const mergeBreakers = (breakers: readonly BreakerReport[], otherwise: BreakerReport): BreakerReport => {
  const state = worstFirst.find((each) => breakers.some((breaker) => breaker.state === each))
  const worst = worstOf(breakers, (breaker) => breaker.state === state)
  if (worst === null) return otherwise
  return {
    ...worst,
    // Where one of them is closed, requests go through.
    outageSince: breakers.some(({ outageSince }) => outageSince === null)
      ? null
      : earliest(breakers.flatMap(({ outageSince }) => outageSince ?? [])),
    lastFailure: lastOf(breakers.map(({ lastFailure }) => lastFailure)),
  }
}

/** Names each endpoint by its URL, and by the how-manieth of that URL it is: a group may list one twice. */
const byName = (endpoints: readonly EndpointReport[]): ReadonlyMap<string, EndpointReport> => {
  const counts = new Map<string, number>()
  return new Map(
    endpoints.map((endpoint) => {
      const count = counts.get(endpoint.url) ?? 0
      counts.set(endpoint.url, count + 1)
      return [`${count} ${endpoint.url}`, endpoint]
    }),
  )
}
