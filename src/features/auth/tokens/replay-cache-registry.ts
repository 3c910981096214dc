import { RefCountedMap } from '../../../core/lib/memo.ts'
import type { BatchCall } from '../../redis/batched-calls.ts'
import type { RedisRegistry } from '../../redis/redis-registry.ts'
import type { RedisSettings } from '../../redis/redis-settings.ts'
import {
  decodeUse,
  type FirstUseResult,
  type ReplayCache,
  ReplayWindow,
  type ReplayWindowState,
  redisReplayCache,
  remoteReplayCache,
  replayReplyTimeoutMs,
  type SharedReplayOptions,
} from './replay-cache.ts'

/** Whether a process remembers: of several, the primary does, and its workers ask it. */
type ReplayRole =
  | { readonly kind: 'alone' | 'primary' }
  | { readonly kind: 'worker'; readonly askPrimary: BatchCall<string, FirstUseResult> }

// In the key of Redis as well.
const name = 'dpop'

/**
 * The replay cache of a process, open as long as any snapshot needs it. A reload that changes the window goes on with
 * it: what was used before must not come again after an edit.
 */
export class ReplayCacheRegistry {
  readonly #role: ReplayRole
  readonly #redis: RedisRegistry
  readonly #caches = new RefCountedMap<ReplayCache>()

  constructor(role: ReplayRole, redis: RedisRegistry) {
    this.#role = role
    this.#redis = redis
  }

  acquire(
    { windowMs, whenUnavailable }: Pick<SharedReplayOptions, 'windowMs' | 'whenUnavailable'>,
    redis: RedisSettings | null,
  ) {
    const replayCache = this.#caches.acquire(name, () => this.#create(windowMs))
    const replayWindow = replayCache instanceof ReplayWindow ? replayCache : null
    replayWindow?.widen(windowMs)
    // The primary of several workers serves no client.
    const shared = redis === null || this.#role.kind === 'primary' ? null : this.#redis.acquire(redis, 'limits')
    return {
      replayCache:
        redis && shared
          ? redisReplayCache(
              { link: shared.link, prefix: `${redis.prefix}:${name}:`, windowMs, whenUnavailable },
              replayCache,
            )
          : replayCache,
      /** Returns how full the memory is. Null: another process keeps it. */
      state: (): ReplayWindowState | null => replayWindow?.state() ?? null,
      /** Whether Redis remembers for all gateways. Null: it is not meant to, or other processes ask it. */
      shared: shared?.link ?? null,
      release: (): void => {
        this.#caches.release(name)
        shared?.release()
      },
    }
  }

  /** Records for another process. Null: nothing is remembered here. */
  recordAll(uses: readonly string[]): readonly FirstUseResult[] | null {
    const replayCache = this.#caches.get(name)
    return replayCache instanceof ReplayWindow ? uses.map((use) => replayCache.record(...decodeUse(use))) : null
  }

  #create(windowMs: number): ReplayCache {
    const role = this.#role
    return role.kind === 'worker'
      ? remoteReplayCache(role.askPrimary, replayReplyTimeoutMs)
      : new ReplayWindow(windowMs)
  }
}
