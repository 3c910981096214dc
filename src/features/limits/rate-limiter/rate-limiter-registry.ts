import { epochMs } from '../../../core/lib/clock.ts'
import { RefCountedMap } from '../../../core/lib/memo.ts'
import type { ConsumeResult, RateLimit, RateLimiter } from '../../../core/lib/token-bucket.ts'
import type { BatchCall } from '../../redis/batched-calls.ts'
import type { RedisRegistry } from '../../redis/redis-registry.ts'
import type { RedisSettings } from '../../redis/redis-settings.ts'
import { MemoryRateLimiter, maxRateLimitKeys } from './memory-rate-limiter.ts'
import { localShareLimiter, redisLimiter, remoteLimiter } from './remote-limiter.ts'

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

export interface RateLimiterState {
  readonly isShared: boolean
  /** Since when it is so, in milliseconds since the epoch. */
  readonly since: number
  /** Why they do not. Null: they do, or they are not meant to. */
  readonly reason: string | null
}

/**
 * The rate limiters of a process, each open as long as any snapshot needs it: a reload goes on with the counts, as long
 * as the limit is the same.
 */
export class RateLimiterRegistry {
  /** How many keys of all rate limiters were removed for want of room, those of earlier configurations among them. */
  readonly counts = { evictions: 0 }
  readonly #since = epochMs()
  readonly #role: LimiterRole
  readonly #limiters = new RefCountedMap<{ readonly limiter: RateLimiter; readonly memory: MemoryRateLimiter | null }>()
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
    const { limiter } = this.#limiters.acquire(name, () => this.#createLimiter(name, limit))
    // The primary of several workers serves no client: they use the connection.
    const shared = redis === null || this.#role.kind === 'primary' ? null : this.#redis.acquire(redis, 'limits')
    return {
      limiter:
        redis && shared ? redisLimiter(limit, shared.link, `${redis.prefix}:${limit.policy}:`, limiter) : limiter,
      state: (): RateLimiterState => {
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
    const memory = this.#limiters.get(name)?.memory ?? null
    return memory && keys.map((key) => memory.consume(key))
  }

  #createLimiter(name: string, limit: RateLimit) {
    const role = this.#role
    if (role.kind === 'worker')
      return {
        limiter: remoteLimiter(
          limit,
          (keys) => role.askPrimary(name, keys),
          role.timeoutMs,
          localShareLimiter(role.workerCount, limit),
        ),
        memory: null,
      }
    const memory = new MemoryRateLimiter(limit, maxRateLimitKeys, this.counts)
    return { limiter: memory, memory }
  }
}

const limitKey = ({ policy, perMs, burst }: RateLimit): string => `${policy} ${perMs} ${burst}`
