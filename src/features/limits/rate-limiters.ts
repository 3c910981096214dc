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

/**
 * The role of a process in counting: it serves alone, it is the primary of several workers, or one of
 * those.
 */
export type LimiterRole =
  | { readonly kind: 'alone' | 'primary' }
  | {
      readonly kind: 'worker'
      readonly workerCount: number
      /** How long it waits for the primary. */
      readonly timeoutMs: number
      askPrimary(limit: string, keys: readonly string[]): ReturnType<BatchCall<string, ConsumeResult>>
    }

/** A rate limiter, as long as a snapshot needs it. */
export type RateLimiterLease = ReturnType<RateLimiterRegistry['acquire']>

/**
 * The rate limiters of a process, each open as long as any snapshot needs it: a reload goes on with the counts, as long
 * as the limit is the same.
 */
export class RateLimiterRegistry {
  /** How many keys of all rate limiters were removed for want of room, those of earlier configurations among them. */
  readonly counts = { evictions: 0 }
  readonly #since = epochMs()
  readonly #role: LimiterRole
  readonly #limiters = new RefCountedMap<RateLimiter>()
  readonly #redis: RedisRegistry

  constructor(role: LimiterRole, redis: RedisRegistry) {
    this.#role = role
    this.#redis = redis
  }

  /**
   * Creates a rate limiter, or acquires the one that there is. The primary of several workers counts in memory only: it
   * serves no client.
   */
  acquire(limit: RateLimit, redis: RedisSettings | null) {
    const name = limitKey(limit)
    const limiter = this.#limiters.acquire(name, () => this.#createLimiter(name, limit))
    // The primary of several workers serves no client: they use the connection.
    const shared = redis === null || this.#role.kind === 'primary' ? null : this.#redis.acquire(redis, 'limits')
    return {
      limiter:
        redis && shared ? redisLimiter(limit, shared.link, `${redis.prefix}:${limit.policy}:`, limiter) : limiter,
      state: (): RedisState => {
        const { isShared, since, reason } = shared?.link ?? { isShared: false, since: this.#since, reason: null }
        return { isShared, since, reason }
      },
      release: (): void => {
        this.#limiters.release(name)
        shared?.release()
      },
    }
  }

  /** Returns this process's share of a limit of the whole gateway: rounded up, so that each has at least one. */
  localShare(limit: number): number {
    return this.#role.kind === 'worker' ? Math.ceil(limit / this.#role.workerCount) : limit
  }

  /** Counts for another process. Null: that limit is not known here, or not any more. */
  consumeAll(name: string, keys: readonly string[]): readonly ConsumeResult[] | null {
    const limiter = this.#limiters.get(name)
    return limiter instanceof MemoryRateLimiter ? keys.map((key) => limiter.consume(key)) : null
  }

  #createLimiter(name: string, limit: RateLimit): RateLimiter {
    const role = this.#role
    if (role.kind !== 'worker') return new MemoryRateLimiter(limit, maxRateLimitKeys, this.counts)
    const share = localShareLimiter(role.workerCount, limit)
    return remoteLimiter(limit, (keys) => role.askPrimary(name, keys), role.timeoutMs, share)
  }
}

const limitKey = ({ policy, perMs, burst }: RateLimit): string => `${policy} ${perMs} ${burst}`

/** Counts in Redis for several gateways. While Redis is down or slow, it counts for this gateway alone. */
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

const maxRateLimitKeys = 100_000

// So many are visited for each new key: more than one, so that drained keys go faster than others come.
const sweepCount = 2

// Of so many, the one that loses least by it is evicted.
const evictionCandidates = 8

/**
 * A rate limiter in memory. Keys whose bucket has drained are removed as new ones come. Where there are too many, the
 * emptiest of a few is evicted. To push out a busy key, an attacker has to send several requests from each of as many
 * addresses as there is room for, and all that it gains is a fresh burst for that one. No request is ever rejected for
 * want of room.
 */
export class MemoryRateLimiter implements RateLimiter {
  readonly limit: RateLimit
  /** How many keys were removed for want of room that had not drained; limiters may count together. */
  readonly counts: { evictions: number }
  readonly #max: number
  readonly #buckets = new Map<string, TokenBucket>()
  // Goes round and round. To begin at the front each time would pass over everything that was deleted there, which an
  // attacker can make slow.
  #cursor = this.#buckets.entries()

  constructor(limit: RateLimit, max: number = maxRateLimitKeys, counts = { evictions: 0 }) {
    this.limit = limit
    this.#max = max
    this.counts = counts
  }

  /** How many keys are counted. */
  get size(): number {
    return this.#buckets.size
  }

  consume(key: string): ConsumeResult {
    const at = now()
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      this.#makeRoom(at)
      bucket = { used: 0, at }
      this.#buckets.set(key, bucket)
    }
    return consumeToken(bucket, this.limit, at)
  }

  #makeRoom(at: number): void {
    this.#sweep(sweepCount, at)
    if (this.#buckets.size < this.#max) return
    const emptiest = this.#sweep(evictionCandidates, at)
    if (this.#buckets.size < this.#max || emptiest === null) return
    this.#buckets.delete(emptiest)
    this.counts.evictions++
  }

  /** Visits so many more keys, removes those that have drained, and returns the emptiest of the others. */
  #sweep(count: number, at: number): string | null {
    let emptiest: string | null = null
    let minUsed = Number.POSITIVE_INFINITY
    for (let left = Math.min(count, this.#buckets.size); left > 0; left--) {
      let next = this.#cursor.next()
      if (next.done === true) {
        this.#cursor = this.#buckets.entries()
        next = this.#cursor.next()
      }
      if (next.done === true) break
      const [key, bucket] = next.value
      const used = bucketUsage(bucket, this.limit, at)
      if (used === 0) this.#buckets.delete(key)
      else if (used < minUsed) [emptiest, minUsed] = [key, used]
    }
    return emptiest
  }
}
