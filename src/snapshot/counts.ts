import { byGroup, type Group, groups } from '../catalog.ts'
import type { CacheReport } from './cache-report.ts'
import type { ProcessReport, Report, UpstreamReport } from './report.ts'

/** Is how many of what there were, by a name of its own for each; but for what the meter counts, which adds up by itself. */
export type Counts = ReadonlyMap<string, number>

/** Is told what is counted, and how many; tells how many there are. */
type Change = (what: string, count: number) => number

/** Lists what a report counts from the start of a process on: what never becomes less while it runs. */
export const countsOf = (report: Report): Counts => {
  const counts = new Map<string, number>()
  changeCounts(report, (what, count) => {
    counts.set(what, count)
    return count
  })
  return counts
}

/** Adds up what several have counted. */
export const addCounts = (each: readonly Counts[]): Counts => {
  const sums = new Map<string, number>()
  for (const counts of each) for (const [what, count] of counts) sums.set(what, (sums.get(what) ?? 0) + count)
  return sums
}

/** Tells whether a count is of an endpoint: every edit may bring more of them, while of all else there is what it was built with. */
export const isOfEndpoint = (what: string): boolean => groups.some((group) => what.startsWith(`${group} `))

/** Makes a report that is the same but for what it counts; what is not told of stays as it is. */
export const withCounts = (report: Report, counts: Counts): Report =>
  changeCounts(report, (what, count) => counts.get(what) ?? count)

/** Goes over all that is counted: the one place that knows what that is. */
const changeCounts = (report: Report, change: Change): Report => {
  const { upstreams, limits, refusals, cache, runtimes } = report
  const { rate } = limits
  return {
    ...report,
    upstreams: byGroup((group) => inUpstream(group, upstreams[group], change)),
    limits: { ...limits, rate: rate && { ...rate, evictions: change('rate evictions', rate.evictions) } },
    refusals: { ...refusals, total: change('refusals', refusals.total) },
    cache: cache && inCache(cache, change),
    runtimes: runtimes.map((each) => inProcess(each, change)),
  }
}

const inUpstream = (group: Group, upstream: UpstreamReport, change: Change): UpstreamReport => ({
  ...upstream,
  endpoints: upstream.endpoints.map((each) => ({
    ...each,
    counts: inCounts(`${group} ${each.url}`, each.counts, change),
  })),
})

/** Goes over what is nothing but counts. */
const inCounts = <T extends Readonly<Record<string, number>>>(of: string, counts: T, change: Change): T =>
  Object.fromEntries(Object.entries(counts).map(([what, count]) => [what, change(`${of} ${what}`, count)])) as T

const inCache = (cache: CacheReport, change: Change): CacheReport => {
  const { redis, operations } = cache
  return {
    ...cache,
    evictions: change('cache evictions', cache.evictions),
    redis: redis && { ...redis, counts: inCounts('cache', redis.counts, change) },
    operations: operations.map((each) => ({
      ...each,
      outcomes: inCounts(`cache ${each.operation}`, each.outcomes, change),
    })),
  }
}

const inProcess = (report: ProcessReport, change: Change): ProcessReport => {
  const { process: name, cpuSeconds, eventLoop } = report
  return {
    ...report,
    cpuSeconds: inCounts(name, cpuSeconds, change),
    eventLoop: {
      ...eventLoop,
      activeSeconds: change(`${name} active`, eventLoop.activeSeconds),
      idleSeconds: change(`${name} idle`, eventLoop.idleSeconds),
    },
  }
}
