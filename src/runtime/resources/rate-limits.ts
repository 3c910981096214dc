import type { AddressLimitConfig, LimitsConfig } from '../../config/config.ts'
import { pluck, sum, worstWorker } from '../../observe/sum-reports.ts'
import type { RateLimiterLease, RateLimiterRegistry } from '../../shared/rate-limiter/rate-limiter-registry.ts'
import type { RateLimit } from '../../shared/rate-limiter/token-bucket.ts'
import { type ClientLimits, mergeLimiterStates } from './client-limits.ts'

/** Is who counts how often clients ask, as plain data. */
export interface RateLimitReport {
  readonly store: 'memory' | 'redis'
  /** `local`: counts are of this gateway alone. */
  readonly state: 'shared' | 'local'
  /** Since when that is so, in ms since the epoch. */
  readonly since: number
  /** Why they are not shared; null: they are, or are not to be. */
  readonly reason: string | null
  /** In which of several workers they are: `in 1 of 2 workers`; null: in all. */
  readonly where: string | null
  /** How many keys were forgotten for want of room before their time. */
  readonly evictions: number
}

/** Is what counts by rate, as long as a snapshot needs it. */
export interface RateLimiters {
  /** Null: it is off. */
  readonly address: RateLimiterLease | null
  readonly clients: ClientLimits
}

/** Makes the limit of an address. */
export const toAddressLimit = ({ rate, burst }: AddressLimitConfig): RateLimit => ({
  policy: 'address',
  perMs: rate.count / rate.perMs,
  burst,
})

/** Takes what counts by address; null: that is off. */
export const acquireAddressLimiter = (
  { address, redis }: LimitsConfig,
  limiters: RateLimiterRegistry,
): RateLimiterLease | null => address && limiters.acquire(toAddressLimit(address), redis)

/** Reports on who counts. */
export const collectRateLimitReport = (
  { redis }: LimitsConfig,
  { address, clients }: RateLimiters,
): RateLimitReport | null => {
  const state = mergeLimiterStates([address?.state() ?? [], clients.state() ?? []].flat())
  if (state === null) return null
  const { isShared, since, reason, evictions } = state
  return {
    store: redis === null ? 'memory' : 'redis',
    state: isShared ? 'shared' : 'local',
    since,
    reason,
    where: null,
    evictions,
  }
}

/** Makes one report of several workers: the worst that is known of each, and the keys are the primary's. */
export const mergeRateLimitReports = (
  primary: RateLimitReport | null,
  workers: readonly RateLimitReport[],
): RateLimitReport | null => {
  const worst = worstWorker(workers, ({ state }) => state === 'local')
  const all = [...workers, ...(primary === null ? [] : [primary])]
  return worst === null ? primary : { ...worst, evictions: sum(pluck(all, 'evictions')) }
}
