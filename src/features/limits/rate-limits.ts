import type { AddressLimitConfig, LimitsConfig } from '../../core/config/config.ts'
import type { RateLimit } from '../../core/lib/token-bucket.ts'
import type { ClientLimits } from './client-limits.ts'
import type { RateLimiterLease, RateLimiterRegistry } from './rate-limiter/rate-limiter-registry.ts'

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
