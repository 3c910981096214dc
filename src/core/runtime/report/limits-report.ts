import type { InFlightCounter } from '../../../features/limits/limits.ts'
import {
  collectRateLimitReport,
  mergeRateLimitReports,
  type RateLimitReport,
} from '../../../features/limits/rate-limits.ts'
import { allOperations, groups } from '../../../operations.ts'
import { pluck, sumReports, worstWorker } from '../../log/sum-reports.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

export interface LimitsReport {
  /** Null: there is no rate limit, and no proof is counted in Redis. */
  readonly rate: RateLimitReport | null
  /** The limits that are set, in the order in which an exchange meets them. */
  readonly concurrency: readonly ConcurrencyReport[]
  readonly eventLoop: EventLoopReport | null
}

interface ConcurrencyReport {
  /** The key that sets the limit: `upstreams.risk.concurrency`. */
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
  /** How many of several workers shed: `in 1 of 2 workers`. Null: all, or none. */
  readonly where: string | null
}

export const collectLimitsReport = ({
  config,
  authProvider,
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
    rate: collectRateLimitReport(config.limits, rateLimiters, authProvider.sharedProofsState()),
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

/** Merges the reports of several workers, each of which has its share of a limit; at least one. */
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
