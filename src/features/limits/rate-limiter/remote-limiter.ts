import {
  type ConsumeResult,
  isAllowed,
  msUntilNextToken,
  type RateLimit,
  type RateLimiter,
} from '../../../core/lib/token-bucket.ts'
import { type BatchCall, batchCalls } from '../../redis/batched-calls.ts'
import type { ManagedRedis } from '../../redis/managed-redis.ts'
import { MemoryRateLimiter } from './memory-rate-limiter.ts'

/** Counts in Redis for several gateways. While Redis is down or slow, it counts for this gateway alone. */
export const redisLimiter = (
  limit: RateLimit,
  link: Pick<ManagedRedis, 'isShared' | 'consume'>,
  prefix: string,
  fallback: RateLimiter,
): RateLimiter => ({
  limit,
  consume: (key) =>
    link.isShared
      ? link.consume(prefix + key, limit.perMs, limit.burst).then((outcome) => outcome ?? fallback.consume(key))
      : fallback.consume(key),
})

/** Counts in the primary for all workers. Where it does not reply in time, the worker counts by its share. */
export const remoteLimiter = (
  limit: RateLimit,
  callAll: BatchCall<string, ConsumeResult>,
  timeoutMs: number,
  share: RateLimiter,
): RateLimiter => {
  const call = batchCalls(callAll, timeoutMs)
  return { limit, consume: (key) => call(key).then((outcome) => outcome ?? share.consume(key)) }
}

/** Counts in memory one process's share of a limit, and reports it as if it were the whole. */
export const localShareLimiter = (processes: number, limit: RateLimit): RateLimiter => {
  const { policy, perMs, burst } = limit
  const share = new MemoryRateLimiter({ policy, perMs: perMs / processes, burst: Math.max(1, burst / processes) })
  return {
    limit,
    consume(key) {
      const outcome = share.consume(key)
      if (isAllowed(outcome)) return outcome * processes
      // What an empty bucket of the whole limit would show that has its next token when the share has.
      return 1 - burst - msUntilNextToken(outcome, share.limit) * perMs
    },
  }
}
