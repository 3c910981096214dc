import { epochMs } from '../../clock.ts'
import type { ManagedRedis } from '../redis/managed-redis.ts'
import { type OnSharedChange, RedisRegistry, type RedisSettings } from '../redis/redis-registry.ts'
import { RefCountedMap } from '../ref-counted-map.ts'
import {
  decodeUse,
  type ReplayCache,
  ReplayWindow,
  type ReplayWindowState,
  redisReplayCache,
  remoteReplayCache,
  replayReplyTimeoutMs,
} from '../replay-cache.ts'
import { type BatchCall, batchCalls } from './batched-calls.ts'
import { MemoryRateLimiter } from './memory-rate-limiter.ts'
import { type ConsumeResult, isAllowed, msUntilNextToken, type RateLimit, type RateLimiter } from './token-bucket.ts'

/** Is the part that a process has in counting: one that serves alone, the primary of several that serve, or one of those. */
export type LimiterRole =
  | { readonly kind: 'alone' | 'primary' }
  | {
      readonly kind: 'worker'
      readonly workerCount: number
      /** How long it waits for the primary. */
      readonly timeoutMs: number
      askPrimary(limit: string, keys: readonly string[]): ReturnType<BatchCall<string, ConsumeResult>>
    }

/** A limiter as long as it is needed, with what it stands on. */
export type RateLimiterLease = ReturnType<RateLimiterRegistry['acquire']>

/** What tells whether something comes for the first time, as long as that is needed. */
export type ReplayCacheLease = ReturnType<RateLimiterRegistry['acquireReplayCache']>

/** Is what has to be said of something that may come only once. */
export interface ReplayCacheOptions {
  /** What it is, in the key of Redis and for other processes. */
  readonly name: string
  readonly windowMs: number
  /** What is done while Redis, where there is one, cannot be asked. */
  readonly whenUnavailable: 'refuse' | 'serve'
}

/** Is how a limiter does. */
export interface RateLimiterState {
  /** Whether other gateways count with this one. */
  readonly isShared: boolean
  /** Since when it is so, in milliseconds since the epoch. */
  readonly since: number
  /** Why they cannot; null: they can, or are not to. */
  readonly reason: string | null
  /** How many keys were forgotten for want of room. */
  readonly evictions: number
}

/** Keeps limiters and links as long as anybody needs them: a reload goes on with the counts, as long as the limit is the same. */
export class RateLimiterRegistry {
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

  /** Makes a limiter, or takes the one that there is. Of several processes the primary counts in memory only: it serves nobody. */
  acquire(limit: RateLimit, redis: RedisSettings | null) {
    const name = limitKey(limit)
    const { limiter, memory } = this.#limiters.acquire(name, () => this.#createLimiter(name, limit))
    const shared = this.#acquireRedis(redis)
    return {
      limiter: shared ? redisLimiter(limit, shared.link, `${shared.prefix}:${limit.policy}:`, limiter) : limiter,
      state: (): RateLimiterState => {
        const { isShared, since, reason } = shared?.link ?? { isShared: false, since: this.#since, reason: null }
        return { isShared, since, reason, evictions: memory?.evictions ?? 0 }
      },
      release: (): void => {
        this.#limiters.release(name)
        shared?.release()
      },
    }
  }

  /**
   * Makes what tells whether something comes for the first time, or takes the one that there is. A reload that changes the window goes on with
   * it: what was seen before must not come again after an edit.
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
      /** Tells how full the memory is; null: another process has it. */
      state: (): ReplayWindowState | null => replayWindow?.state() ?? null,
      release: (): void => {
        this.#replayCaches.release(name)
        shared?.release()
      },
    }
  }

  /** Holds the link to a Redis; null: there is none, or another process asks it. */
  #acquireRedis(redis: RedisSettings | null) {
    return redis === null || this.#role.kind === 'primary'
      ? null
      : { ...this.#redis.acquire(redis), prefix: redis.prefix }
  }

  /** Tells how much of a bound of the whole gateway is for this process: rounded up, so that each has one of everything. */
  localShare(limit: number): number {
    return this.#role.kind === 'worker' ? Math.ceil(limit / this.#role.workerCount) : limit
  }

  /** Counts for another process; null: that limit is not known here, or not any more. */
  consumeAll(name: string, keys: readonly string[]): readonly ConsumeResult[] | null {
    const replayWindow = this.#replayCaches.get(name)?.replayWindow ?? null
    if (replayWindow !== null) return keys.map((question) => replayWindow.record(...decodeUse(question)))
    const memory = this.#limiters.get(name)?.memory ?? null
    return memory && keys.map((key) => memory.consume(key))
  }

  #createReplayCache(
    name: string,
    windowMs: number,
  ): { readonly replayCache: ReplayCache; readonly replayWindow: ReplayWindow | null } {
    const role = this.#role
    if (role.kind === 'worker')
      return {
        replayCache: remoteReplayCache((keys) => role.askPrimary(name, keys), replayReplyTimeoutMs),
        replayWindow: null,
      }
    const replayWindow = new ReplayWindow(windowMs)
    return { replayCache: replayWindow, replayWindow }
  }

  #createLimiter(
    name: string,
    limit: RateLimit,
  ): { readonly limiter: RateLimiter; readonly memory: MemoryRateLimiter | null } {
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
    const memory = new MemoryRateLimiter(limit)
    return { limiter: memory, memory }
  }
}

const limitKey = ({ policy, perMs, burst }: RateLimit): string => `${policy} ${perMs} ${burst}`

/** Counts in Redis for several gateways; as this one would without it while Redis is down or slow. */
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

/** Has another process count for several that serve. Where it does not answer in time, this one counts by its share. */
export const remoteLimiter = (
  limit: RateLimit,
  askAll: BatchCall<string, ConsumeResult>,
  withinMs: number,
  share: RateLimiter,
): RateLimiter => {
  const call = batchCalls(askAll, withinMs)
  return { limit, consume: (key) => call(key).then((outcome) => outcome ?? share.consume(key)) }
}

/** Counts in memory the share that one of several processes has of a limit, and tells of it as if it were the whole. */
export const localShareLimiter = (processes: number, limit: RateLimit): RateLimiter => {
  const { policy, perMs, burst } = limit
  const share = new MemoryRateLimiter({ policy, perMs: perMs / processes, burst: Math.max(1, burst / processes) })
  return {
    limit,
    consume(key) {
      const outcome = share.consume(key)
      if (isAllowed(outcome)) return outcome * processes
      // What the whole would have used that has nothing left, and the next one when the share has.
      return 1 - burst - msUntilNextToken(outcome, share.limit) * perMs
    },
  }
}
