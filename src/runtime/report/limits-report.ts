import type { InFlightCounter } from '../../layers/admission/limits.ts'
import { pluck, sumReports, worstWorker } from '../../observe/sum-reports.ts'
import { allOperations, groups } from '../../operations.ts'
import { collectRateLimitReport, mergeRateLimitReports, type RateLimitReport } from '../resources/rate-limits.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** Is how near a process is to the bounds of what it takes on, as plain data. */
export interface LimitsReport {
  /** Null: nothing is counted by rate. */
  readonly rate: RateLimitReport | null
  /** The bounds that are set, in the order in which an exchange meets them. */
  readonly concurrency: readonly ConcurrencyReport[]
  /** Null: its bound is off. */
  readonly eventLoop: EventLoopReport | null
}

interface ConcurrencyReport {
  /** The key that sets it: `upstreams.risk.concurrency`. */
  readonly key: string
  readonly inFlight: number
  readonly limit: number
}

interface EventLoopReport {
  readonly delayMs: number
  readonly limitMs: number
  readonly sheds: boolean
  /** Since when it sheds, or does not, in ms since the epoch. */
  readonly since: number
  /** In which of several workers it does: `in 1 of 2 workers`; null: in all, or in none. */
  readonly where: string | null
}

/** Reports on what a snapshot takes on at most. */
export const collectLimitsReport = ({
  config,
  rateLimiters,
  processLoad: { counts, loop },
}: Snapshot): LimitsReport => {
  const { limits, upstreams, operations } = config
  const concurrencyReport = (
    key: string,
    limit: number | null,
    { inFlight }: InFlightCounter,
  ): readonly ConcurrencyReport[] => (limit === null ? [] : [{ key, inFlight, limit }])
  const limitMs = limits.eventLoopDelay
  const { delayMs, sheds, since } = loop
  return {
    rate: collectRateLimitReport(config.limits, rateLimiters),
    concurrency: [
      ...concurrencyReport('limits.concurrency', limits.concurrency, counts.all),
      ...groups.flatMap((group) =>
        concurrencyReport(`upstreams.${group}.concurrency`, upstreams[group].concurrency, counts.upstreams[group]),
      ),
      ...allOperations.flatMap(({ id }) =>
        concurrencyReport(`operations.${id}.concurrency`, operations[id].concurrency, counts.operations[id]),
      ),
    ],
    eventLoop: limitMs === null ? null : { delayMs, limitMs, sheds, since, where: null },
  }
}

/** Makes one report of several workers, each of which has its share of a bound; at least one. */
export const mergeLimitsReports = (primary: LimitsReport, workers: readonly LimitsReport[]): LimitsReport => ({
  rate: mergeRateLimitReports(primary.rate, pluck(workers, 'rate')),
  concurrency: primary.concurrency.map((each) =>
    sumReports(
      each,
      workers.flatMap(({ concurrency }) => concurrency.filter(({ key }) => key === each.key)),
    ),
  ),
  eventLoop: mergeEventLoops(pluck(workers, 'eventLoop')),
})

const mergeEventLoops = (loops: readonly EventLoopReport[]): EventLoopReport | null => {
  const worst = worstWorker(loops, ({ sheds }) => sheds)
  return worst && { ...worst, delayMs: Math.max(...pluck(loops, 'delayMs')) }
}
