import type { AddressLimitConfig, LimitsConfig } from '../../core/config/config.ts'
import type { RateLimit } from '../../core/lib/token-bucket.ts'
import { pluck, sum, worstWorker } from '../../core/log/sum-reports.ts'
import { describeRedis } from '../redis/redis-settings.ts'
import type { ClientLimits } from './client-limits.ts'
import type { RateLimiterLease, RateLimiterRegistry, RateLimiterState } from './rate-limiter/rate-limiter-registry.ts'

/** The state of what counts requests: the rate limiters, and Redis where it remembers proofs. As plain data. */
export interface RateLimitReport {
  readonly store: 'memory' | 'redis'
  /** The Redis, without a secret. Null: counts are in memory. */
  readonly server: string | null
  /** `local`: this gateway counts for itself alone. */
  readonly state: 'shared' | 'local'
  /** Since when that is so, in ms since the epoch. */
  readonly since: number
  /** Why the counts are not shared. Null: they are, or they are not meant to be. */
  readonly reason: string | null
  /** How many of several workers are in that state: `in 1 of 2 workers`. Null: all. */
  readonly where: string | null
  /** How many keys were removed for want of room before they expired. */
  readonly evictions: number
}

export interface RateLimiters {
  readonly address: RateLimiterLease | null
  readonly clients: ClientLimits
  readonly counts: RateLimiterRegistry['counts']
}

export const toAddressLimit = ({ rate, burst }: AddressLimitConfig): RateLimit => ({
  policy: 'address',
  perMs: rate.count / rate.perMs,
  burst,
})

/** Null: it is off. */
export const acquireAddressLimiter = (
  { address, redis }: LimitsConfig,
  limiters: RateLimiterRegistry,
): RateLimiterLease | null => address && limiters.acquire(toAddressLimit(address), redis)

/**
 * Collects the report on the rate limiters. `proofs` is the state of the Redis in which proofs are counted too: there a
 * proof is a bucket with room for one.
 */
export const collectRateLimitReport = (
  { redis }: LimitsConfig,
  { address, clients, counts }: RateLimiters,
  proofs: RateLimiterState | null,
): RateLimitReport | null => {
  const state = address?.state() ?? clients.state() ?? proofs
  if (state === null) return null
  const { isShared, since, reason } = state
  return {
    store: redis === null ? 'memory' : 'redis',
    server: redis && describeRedis(redis),
    state: isShared ? 'shared' : 'local',
    since,
    reason,
    where: null,
    evictions: counts.evictions,
  }
}

/** The primary keeps the keys. */
export const mergeRateLimitReports = (
  primary: RateLimitReport | null,
  workers: readonly RateLimitReport[],
): RateLimitReport | null => {
  const worst = worstWorker(workers, ({ state }) => state === 'local')
  const all = [...workers, ...(primary === null ? [] : [primary])]
  return worst === null ? primary : { ...worst, evictions: sum(pluck(all, 'evictions')) }
}
