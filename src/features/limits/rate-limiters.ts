import { epochMs, now } from '../../core/lib/clock.ts'
import { RefCountedMap } from '../../core/lib/memo.ts'
import {
  bucketUsage,
  type ConsumeResult,
  consumeToken,
  isAllowed,
  msUntilNextToken,
  type RateLimit,
  type RateLimiter,
  type TokenBucket,
} from '../../core/lib/token-bucket.ts'
import { type BatchCall, batchCalls } from '../redis/batched-calls.ts'
import type { ManagedRedis, RedisState } from '../redis/managed-redis.ts'
import type { RedisRegistry } from '../redis/redis-registry.ts'
import type { RedisSettings } from '../redis/redis-settings.ts'

type LimiterRole =
  | { readonly kind: 'alone' | 'primary' }
  | {
      readonly kind: 'worker'
      readonly workerCount: number
      /** The longest wait for the primary. */
      readonly timeoutMs: number
      askPrimary(limit: string, keys: readonly string[]): ReturnType<BatchCall<string, ConsumeResult>>
    }

export type RateLimiters = ReturnType<typeof createRateLimiters>
export type RateLimiterLease = ReturnType<RateLimiters['acquire']>

/** A reload keeps the counts of unchanged limits. */
export const createRateLimiters = (role: LimiterRole, redisRegistry: RedisRegistry) => {
  const counts = { evictions: 0 }
  const openedAt = epochMs()
  const limiters = new RefCountedMap<RateLimiter>()

  const createLimiter = (name: string, limit: RateLimit): RateLimiter => {
    if (role.kind !== 'worker') return memoryLimiter(limit, maxRateLimitKeys, counts)
    const share = localShareLimiter(role.workerCount, limit)
    return remoteLimiter(limit, (keys) => role.askPrimary(name, keys), role.timeoutMs, share)
  }

  return {
    /** Keys evicted to make room, in present and former limiters. */
    counts,
    acquire(limit: RateLimit, redis: RedisSettings | null) {
      const name = limitKey(limit)
      const local = limiters.acquire(name, () => createLimiter(name, limit))
      // The primary of several workers serves no client; its workers use the connection.
      const shared = redis === null || role.kind === 'primary' ? null : redisRegistry.acquire(redis, 'counts')
      return {
        limiter: redis && shared ? redisLimiter(limit, shared.link, `${redis.prefix}:${limit.policy}:`, local) : local,
        state: (): RedisState => {
          const { isShared, since, reason } = shared?.link ?? { isShared: false, since: openedAt, reason: null }
          return { isShared, since, reason }
        },
        release: (): void => {
          limiters.release(name)
          shared?.release()
        },
      }
    },
    /** This process's share of a limit, rounded up: at least 1. */
    localShare: (limit: number): number => (role.kind === 'worker' ? Math.ceil(limit / role.workerCount) : limit),
    /** Counts requests that other processes got. Null: the limit is not configured here. */
    consumeAll(name: string, keys: readonly string[]): readonly ConsumeResult[] | null {
      const limiter = limiters.get(name)
      // The primary's limiters are in memory, and reply at once.
      return limiter === undefined ? null : keys.map((key) => limiter.consume(key) as ConsumeResult)
    },
  }
}

const limitKey = ({ policy, perMs, burst }: RateLimit): string => `${policy} ${perMs} ${burst}`

/** While Redis is down or slow, this gateway counts alone. */
const redisLimiter = (
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

/** If the primary does not reply in time, this worker applies its own share of the limit. */
export const remoteLimiter = (
  limit: RateLimit,
  callAll: BatchCall<string, ConsumeResult>,
  timeoutMs: number,
  share: RateLimiter,
): RateLimiter => {
  const call = batchCalls(callAll, timeoutMs)
  return { limit, consume: (key) => call(key).then((outcome) => outcome ?? share.consume(key)) }
}

/** Counts one process's share and reports it as the whole limit. */
export const localShareLimiter = (processes: number, limit: RateLimit): RateLimiter => {
  const { policy, perMs, burst } = limit
  const share = memoryLimiter({ policy, perMs: perMs / processes, burst: Math.max(1, burst / processes) })
  return {
    limit,
    consume(key) {
      const outcome = share.consume(key)
      if (isAllowed(outcome)) return outcome * processes
      // An empty bucket of the whole limit, with its next token at the same time.
      return 1 - burst - msUntilNextToken(outcome, share.limit) * perMs
    },
  }
}

const maxRateLimitKeys = 100_000

// Keys visited for each new key. Above 1: drained keys go faster than new keys come.
const sweepCount = 2

// The emptiest of this number is evicted.
const evictionCandidates = 8

/**
 * New keys evict drained keys and, if there are too many, the emptiest of a few. To evict a busy key, an attacker must
 * send several requests from `max` addresses, and gains one fresh burst. No request is rejected for lack of room.
 */
export const memoryLimiter = (limit: RateLimit, max: number = maxRateLimitKeys, counts = { evictions: 0 }) => {
  const buckets = new Map<string, TokenBucket>()
  // A ring: an iteration from the front passes over all entries deleted there, which an attacker can make slow.
  let cursor = buckets.entries()

  /** Removes drained keys; returns the emptiest of the others. */
  const sweep = (count: number, at: number): string | null => {
    let emptiest: string | null = null
    let minUsed = Number.POSITIVE_INFINITY
    for (let left = Math.min(count, buckets.size); left > 0; left--) {
      let next = cursor.next()
      if (next.done === true) {
        cursor = buckets.entries()
        next = cursor.next()
      }
      if (next.done === true) break
      const [key, bucket] = next.value
      const used = bucketUsage(bucket, limit, at)
      if (used === 0) buckets.delete(key)
      else if (used < minUsed) [emptiest, minUsed] = [key, used]
    }
    return emptiest
  }

  const makeRoom = (at: number): void => {
    sweep(sweepCount, at)
    if (buckets.size < max) return
    const emptiest = sweep(evictionCandidates, at)
    if (buckets.size < max || emptiest === null) return
    buckets.delete(emptiest)
    counts.evictions++
  }

  return {
    limit,
    /** Evictions of keys whose buckets were not full again. Several limiters may share the count. */
    counts,
    size: () => buckets.size,
    consume(key: string): ConsumeResult {
      const at = now()
      let bucket = buckets.get(key)
      if (bucket === undefined) {
        makeRoom(at)
        bucket = { used: 0, at }
        buckets.set(key, bucket)
      }
      return consumeToken(bucket, limit, at)
    },
  }
}
