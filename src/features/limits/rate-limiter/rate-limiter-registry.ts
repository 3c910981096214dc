import { epochMs } from '../../../core/lib/clock.ts'
import { RefCountedMap } from '../../../core/lib/ref-counted-map.ts'
import type { BatchCall } from '../../../core/lib/scheduling/batched-calls.ts'
import type { ConsumeResult, RateLimit, RateLimiter } from '../../../core/lib/token-bucket.ts'
import {
  decodeUse,
  type ReplayCache,
  ReplayWindow,
  type ReplayWindowState,
  redisReplayCache,
  remoteReplayCache,
  replayReplyTimeoutMs,
} from '../../auth/tokens/replay-cache.ts'
import { type OnSharedChange, RedisRegistry } from '../../redis/redis-registry.ts'
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

/** A replay cache, as long as a snapshot needs it. */
export type ReplayCacheLease = ReturnType<RateLimiterRegistry['acquireReplayCache']>

interface ReplayCacheOptions {
  /** The name of what may come only once, in the key of Redis and for other processes. */
  readonly name: string
  readonly windowMs: number
  /** What happens while Redis, where it is configured, cannot be asked. */
  readonly whenUnavailable: 'refuse' | 'serve'
}

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
  readonly #replayCaches = new RefCountedMap<{
    readonly replayCache: ReplayCache
    readonly replayWindow: ReplayWindow | null
  }>()

  constructor(role: LimiterRole, onChange: OnSharedChange) {
    this.#role = role
    this.#redis = new RedisRegistry(onChange)
  }

  /**
   * Creates a rate limiter, or acquires the one that there is. The primary of several workers counts in memory only: it
   * serves no client.
   */
  acquire(limit: RateLimit, redis: RedisSettings | null) {
    const name = limitKey(limit)
    const { limiter } = this.#limiters.acquire(name, () => this.#createLimiter(name, limit))
    const shared = this.#acquireRedis(redis)
    return {
      limiter: shared ? redisLimiter(limit, shared.link, `${shared.prefix}:${limit.policy}:`, limiter) : limiter,
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

  /**
   * Creates a replay cache, or acquires the one that there is. A reload that changes the window goes on with it: what
   * was used before must not come again after an edit.
   */
  acquireReplayCache({ name, windowMs, whenUnavailable }: ReplayCacheOptions, redis: RedisSettings | null) {
    const { replayCache, replayWindow } = this.#replayCaches.acquire(name, () =>
      this.#createReplayCache(name, windowMs),
    )
    replayWindow?.widen(windowMs)
    const shared = this.#acquireRedis(redis)
    return {
      replayCache: shared
        ? redisReplayCache(
            { link: shared.link, prefix: `${shared.prefix}:${name}:`, windowMs, whenUnavailable },
            replayCache,
          )
        : replayCache,
      /** Returns how full the memory is. Null: another process keeps it. */
      state: (): ReplayWindowState | null => replayWindow?.state() ?? null,
      /** Returns whether Redis remembers for all gateways. Null: it is not meant to, or other processes ask it. */
      sharedState: (): RateLimiterState | null => {
        if (shared === null) return null
        const { isShared, since, reason } = shared.link
        return { isShared, since, reason }
      },
      release: (): void => {
        this.#replayCaches.release(name)
        shared?.release()
      },
    }
  }

  /** Acquires the connection to a Redis. Null: there is none, or the workers use it. */
  #acquireRedis(redis: RedisSettings | null) {
    return redis === null || this.#role.kind === 'primary'
      ? null
      : { ...this.#redis.acquire(redis, 'limits'), prefix: redis.prefix }
  }

  /** Returns this process's share of a limit of the whole gateway: rounded up, so that each has at least one. */
  localShare(limit: number): number {
    return this.#role.kind === 'worker' ? Math.ceil(limit / this.#role.workerCount) : limit
  }

  /** Counts for another process. Null: that limit is not known here, or not any more. */
  consumeAll(name: string, keys: readonly string[]): readonly ConsumeResult[] | null {
    const replayWindow = this.#replayCaches.get(name)?.replayWindow ?? null
    if (replayWindow !== null) return keys.map((use) => replayWindow.record(...decodeUse(use)))
    const memory = this.#limiters.get(name)?.memory ?? null
    return memory && keys.map((key) => memory.consume(key))
  }

  #createReplayCache(name: string, windowMs: number) {
    const role = this.#role
    if (role.kind === 'worker')
      return {
        replayCache: remoteReplayCache((keys) => role.askPrimary(name, keys), replayReplyTimeoutMs),
        replayWindow: null,
      }
    const replayWindow = new ReplayWindow(windowMs)
    return { replayCache: replayWindow, replayWindow }
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
