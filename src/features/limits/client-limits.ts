import { frozenMemo } from '../../core/lib/memo.ts'
import type { RateLimit, RateLimiter } from '../../core/lib/token-bucket.ts'
import type { ClientConfig } from '../auth/clients/config.ts'
import type { LimitsConfig } from './config.ts'
import type { RateLimiterRegistry, RateLimiterState } from './rate-limiter/rate-limiter-registry.ts'

export interface ClientLimits {
  readonly rateLimitedCount: number
  readonly concurrencyLimitedCount: number
  /** Returns the rate limiter of a client. Undefined: the client has none. */
  getRateLimiter(client: string): RateLimiter | undefined
  /** Returns how many exchanges a client may have in flight in this process. Null: any number. */
  getConcurrencyLimit(client: string): number | null
  state(): RateLimiterState | null
  release(): void
}

/**
 * Acquires the rate limiters of clients: one for all that have the same rate and burst, since each counts by the
 * client's id.
 */
export const acquireClientLimits = (
  clients: readonly ClientConfig[],
  { redis }: LimitsConfig,
  limiters: RateLimiterRegistry,
): ClientLimits => {
  const { limits, limitIndexes, concurrencyLimits } = parseClientLimits(clients)
  const leases = limits.map((limit) => limiters.acquire(limit, redis))
  return {
    rateLimitedCount: limitIndexes.size,
    concurrencyLimitedCount: concurrencyLimits.size,
    getRateLimiter(client) {
      const index = limitIndexes.get(client)
      return index === undefined ? undefined : leases[index]?.limiter
    },
    getConcurrencyLimit(client) {
      const max = concurrencyLimits.get(client)
      return max === undefined ? null : limiters.localShare(max)
    },
    state: () => leases[0]?.state() ?? null, // they share one Redis, or none
    release() {
      for (const each of leases) each.release()
    },
  }
}

interface ParsedClientLimits {
  readonly limits: readonly RateLimit[]
  /** The index of each client's rate limit, by the client's id. */
  readonly limitIndexes: ReadonlyMap<string, number>
  /** By the client's id. */
  readonly concurrencyLimits: ReadonlyMap<string, number>
}

// A reload that leaves all clients as they are need not look at each of thousands.
const parseClientLimits = frozenMemo((clients: readonly ClientConfig[]): ParsedClientLimits => {
  const indexes = new Map<string, number>()
  const limits: RateLimit[] = []
  const limitIndexes = new Map<string, number>()
  const concurrencyLimits = new Map<string, number>()
  for (const { id, rate, burst, concurrency } of clients) {
    if (concurrency !== null) concurrencyLimits.set(id, concurrency)
    if (rate === null) continue
    const limit: RateLimit = { policy: 'client', perMs: rate.count / rate.perMs, burst: burst ?? rate.count }
    const name = `${limit.perMs} ${limit.burst}`
    const index = indexes.get(name) ?? limits.push(limit) - 1
    indexes.set(name, index)
    limitIndexes.set(id, index)
  }
  return { limits, limitIndexes, concurrencyLimits }
})
