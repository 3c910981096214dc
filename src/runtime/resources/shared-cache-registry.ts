import type { RedisConfig } from '../../config/config.ts'
import type { PurgeScope } from '../../layers/cache/cache-store.ts'
import type { SharedTier } from '../../layers/cache/fetch-context.ts'
import type { InvalidationTarget } from '../../layers/cache/invalidation.ts'
import { type RedisCacheCounts, RedisCacheStore } from '../../layers/cache/redis/redis-cache-store.ts'
import { purgedGenerationKeys, queryGenerationKey } from '../../layers/cache/redis/redis-keys.ts'
import { RedisTier, type RedisTierOptions } from '../../layers/cache/redis/redis-tier.ts'
import type { LogEvent } from '../../shared/log-event.ts'
import { RedisRegistry } from '../../shared/redis/redis-registry.ts'
import { RefCountedMap } from '../../shared/ref-counted-map.ts'

/** Is how a second level does. */
export interface SharedCacheState {
  /** `local`: this gateway has what it has stored itself. */
  readonly state: 'shared' | 'local'
  /** Since when that is so, in ms since the epoch. */
  readonly since: number
  /** Why it cannot be asked; null: it can, or nobody knows yet. */
  readonly reason: string | null
  readonly counts: RedisCacheCounts
}

/** Is a second level as long as a snapshot needs it. */
export interface SharedCacheLease {
  /** Makes the level of one operation. */
  createTier(options: Omit<RedisTierOptions, 'store'>): SharedTier
  state(): SharedCacheState
  release(): void
}

/** Keeps the second levels of a process: with the link to each, and with what it has to be told. */
export class SharedCacheRegistry {
  readonly #links: RedisRegistry
  readonly #storesByConfig = new RefCountedMap<RedisCacheStore>()
  readonly #stores = new Set<RedisCacheStore>()

  constructor(logEvent: LogEvent) {
    this.#links = new RedisRegistry((isShared, reason) => {
      if (isShared) logEvent('info', 'cache is shared', {})
      else logEvent('warn', 'cache is not shared', { reason })
    })
  }

  /** Opens a second level, or takes the one that there is. */
  acquire(redis: RedisConfig): SharedCacheLease {
    const name = JSON.stringify(redis)
    const { link, release } = this.#links.acquire(redis)
    const store = this.#storesByConfig.acquire(name, () => new RedisCacheStore(link, redis.prefix))
    this.#stores.add(store)
    return {
      createTier: (options) => new RedisTier({ ...options, store }),
      state: () => {
        const { isShared, since, reason } = link
        return { state: isShared ? 'shared' : 'local', since, reason, counts: { ...store.counts } }
      },
      release: () => {
        if (this.#storesByConfig.release(name) !== null) this.#stores.delete(store)
        release()
      },
    }
  }

  /** Has nobody find what is cleared any more; tells whether every second level knows. */
  purge(what: PurgeScope): Promise<boolean> {
    return this.#renewGenerations((prefix) => purgedGenerationKeys(prefix, what))
  }

  /** Has nobody find what has become invalid. Where that cannot be told now, it is when it can be. */
  invalidate(targets: readonly InvalidationTarget[]): void {
    void this.#renewGenerations((prefix) =>
      targets.map(({ operation, query }) => queryGenerationKey(prefix, operation, query)),
    )
  }

  async #renewGenerations(toKeys: (prefix: string) => readonly string[]): Promise<boolean> {
    const renewed = await Promise.all([...this.#stores].map((store) => store.renewGenerations(toKeys(store.prefix))))
    return renewed.every((isRenewed) => isRenewed)
  }
}
