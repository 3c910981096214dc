import type { ShadowReport } from '../../../features/candidate/observe/shadow-counts.ts'
import { byGroup, type Group, groups } from '../../../operations.ts'
import type { CacheReport } from './cache-report.ts'
import type { ProcessReport, SideReport, StatusReport, UpstreamReport } from './status-report.ts'

/**
 * The counters of a report, each by a name of its own. Request metrics are not among them: they add up by themselves.
 */
export type ReportCounters = ReadonlyMap<string, number>

/** Called with the name of a counter and its count; returns the count to put in its place. */
type CounterMapper = (name: string, count: number) => number

/** Lists the counters of a report that run from the start of a process: what never becomes less while it runs. */
export const collectCounters = (report: StatusReport): ReportCounters => {
  const counts = new Map<string, number>()
  mapCounters(report, (name, count) => {
    counts.set(name, count)
    return count
  })
  return counts
}

export const sumCounters = (all: readonly ReportCounters[]): ReportCounters => {
  const sums = new Map<string, number>()
  for (const counts of all) for (const [name, count] of counts) sums.set(name, (sums.get(name) ?? 0) + count)
  return sums
}

/**
 * Tells whether a counter is of an endpoint: edits may add ever more of them, and close them. All other names are fixed
 * from the start.
 */
export const isEndpointCounter = (name: string): boolean => groups.some((group) => name.startsWith(`${group} `))

/** Returns a report with other counts. A counter that `counts` does not name stays as it is. */
export const withCounters = (report: StatusReport, counts: ReportCounters): StatusReport =>
  mapCounters(report, (name, count) => counts.get(name) ?? count)

/** Walks over all counters: the one place that lists them. */
const mapCounters = (report: StatusReport, change: CounterMapper): StatusReport => {
  const { upstreams, limits, recentErrors, cache, idempotency, runtimes } = report
  const { rate } = limits
  return {
    ...report,
    upstreams: byGroup((group) => mapUpstream(group, upstreams[group], change)),
    limits: { ...limits, rate: rate && { ...rate, evictions: change('rate evictions', rate.evictions) } },
    recentErrors: { ...recentErrors, total: change('refusals', recentErrors.total) },
    cache: cache && mapCache(cache, change),
    idempotency: idempotency && {
      ...idempotency,
      dropped: change(`${idempotency.store} idempotency dropped`, idempotency.dropped),
      refused: change(`${idempotency.store} idempotency refused`, idempotency.refused),
    },
    runtimes: runtimes.map((each) => mapProcess(each, change)),
  }
}

const mapUpstream = (group: Group, upstream: UpstreamReport, change: CounterMapper): UpstreamReport => ({
  ...upstream,
  endpoints: mapEndpoints(group, upstream, change),
  candidate: upstream.candidate && {
    ...upstream.candidate,
    endpoints: mapEndpoints(`${group} candidate`, upstream.candidate, change),
    shadow: upstream.candidate.shadow && mapShadow(`shadow ${group}`, upstream.candidate.shadow, change),
  },
})

const mapEndpoints = (prefix: string, { endpoints }: SideReport, change: CounterMapper): SideReport['endpoints'] =>
  endpoints.map((each) => ({ ...each, counts: mapRecord(`${prefix} ${each.url}`, each.counts, change) }))

const mapShadow = (prefix: string, shadow: ShadowReport, change: CounterMapper): ShadowReport => {
  const { sent, pairs, repeated, outcomes, dropped } = shadow
  return {
    ...shadow,
    ...mapRecord(prefix, { sent, pairs, repeated }, change),
    outcomes: mapRecord(`${prefix} outcome`, outcomes, change),
    dropped: mapRecord(`${prefix} dropped`, dropped, change),
  }
}

/** Walks over a record of nothing but counts. */
const mapRecord = <T extends Readonly<Record<string, number>>>(prefix: string, counts: T, change: CounterMapper): T =>
  Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, change(`${prefix} ${name}`, count)])) as T

const mapCache = (cache: CacheReport, change: CounterMapper): CacheReport => {
  const { redis, operations } = cache
  return {
    ...cache,
    evictions: change('cache evictions', cache.evictions),
    redis: redis && { ...redis, counts: mapRecord('cache', redis.counts, change) },
    operations: operations.map((each) => ({
      ...each,
      outcomes: mapRecord(`cache ${each.operation}`, each.outcomes, change),
    })),
  }
}

const mapProcess = (report: ProcessReport, change: CounterMapper): ProcessReport => {
  const { process: name, cpuSeconds, eventLoop } = report
  return {
    ...report,
    cpuSeconds: mapRecord(name, cpuSeconds, change),
    eventLoop: {
      ...eventLoop,
      activeSeconds: change(`${name} active`, eventLoop.activeSeconds),
      idleSeconds: change(`${name} idle`, eventLoop.idleSeconds),
    },
  }
}
