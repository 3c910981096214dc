import { byGroup } from '../catalog.ts'
import type { AttemptReport } from '../failures/errors.ts'
import { added, inWorkers, pluck, sum, worstOf } from '../observe/added.ts'
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

/**
 * Makes one report of several processes that run the same configuration: the traffic is the workers', who alone have any, and what probes
 * found is the primary's, who alone probes. Without a worker it is the primary's.
 */
export const mergeReports = (primary: Report, workers: readonly Report[]): Report => {
  if (workers.length === 0) return primary
  return {
    upstreams: byGroup((group) => mergeUpstream(primary.upstreams[group], pluck(pluck(workers, 'upstreams'), group))),
    limits: mergeLimits(primary.limits, pluck(workers, 'limits')),
    tokens: mergeTokens(primary.tokens, pluck(workers, 'tokens')),
    cache: mergeCaches(primary.cache, pluck(workers, 'cache')),
    meter: primary.meter && addMeters(pluck(workers, 'meter')),
    refusals: mergeRefusals(pluck(workers, 'refusals')),
    runtimes: [...primary.runtimes, ...workers.flatMap(({ runtimes }) => runtimes)],
    turnedAway: mergeTurnedAway([primary, ...workers].flatMap(({ turnedAway }) => turnedAway)),
    retiring: sum(pluck(workers, 'retiring')),
  }
}

const mergeUpstream = (
  { balance, breaker, retryBudget, endpoints }: UpstreamReport,
  workers: readonly UpstreamReport[],
): UpstreamReport => {
  const known = workers.map((worker) => byName(worker.endpoints))
  return {
    balance,
    breaker: breaker && mergeBreakers(pluck(workers, 'breaker'), breaker),
    retryBudget: retryBudget && added(retryBudget, pluck(workers, 'retryBudget')),
    // One that not all know belongs to a reload that is just under way.
    endpoints: [...byName(endpoints)].flatMap(([name, endpoint]) => {
      const places = known.flatMap((places) => places.get(name) ?? [])
      return places.length < workers.length ? [] : [mergeEndpoint(endpoint, places)]
    }),
  }
}

const mergeEndpoint = (primary: EndpointReport, workers: readonly EndpointReport[]): EndpointReport => {
  const course = courseOf(workers)
  const ejectedForMs = pluck(workers, 'ejectedForMs')
  return {
    ...added(primary, workers),
    weight: primary.weight,
    state: stateOf(primary, workers, course),
    lastProbe: primary.lastProbe,
    ...course,
    outdated: pluck(workers, 'outdated').toSorted((a, b) => a.since - b.since)[0] ?? null,
    certificates: lastOfEach([primary, ...workers].flatMap(({ certificates }) => certificates)),
    ejectedForMs: ejectedForMs.length === 0 ? null : Math.max(...ejectedForMs),
    latencyMs: latencyOf(workers),
  }
}

const lastFailureOf = (workers: readonly Pick<EndpointReport, 'lastFailure'>[]): AttemptReport | null =>
  pluck(workers, 'lastFailure').toSorted((a, b) => b.at - a.at)[0] ?? null

type CourseReport = Pick<EndpointReport, 'succeededAt' | 'failingSince' | 'failuresInARow' | 'lastFailure'>

/** Puts together how requests went: those that failed for one worker before another was served have been made good. */
const courseOf = (workers: readonly EndpointReport[]): CourseReport => {
  const { succeededAt, failingSince } = outageOf(workers)
  const failing = workers.filter((worker) => (worker.lastFailure?.at ?? 0) >= (succeededAt ?? 0))
  return {
    ...{ succeededAt, failingSince },
    failuresInARow: failingSince === null ? 0 : sum(pluck(failing, 'failuresInARow')),
    lastFailure: lastFailureOf(workers),
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
  const requests = sum(pluck(known, 'requests'))
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
      : earliest(pluck(breakers, 'outageSince')),
    lastFailure: lastFailureOf(breakers),
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
