import { RefCountedMap } from '../../../core/lib/memo.ts'
import type { LogEvent } from '../../../core/log/log.ts'
import type { RedisConfig } from '../../redis/config.ts'
import { calmChanges, RedisRegistry } from '../../redis/redis-registry.ts'
import type { InvalidationTarget } from '../invalidation.ts'
import type { PurgeScope } from '../store/cache-store.ts'
import { createRedisCacheStore, type RedisCacheStore } from './redis-cache-store.ts'
import { type CacheKeySpace, purgedGenerationKeys, queryGenerationKey } from './redis-entry.ts'
import { createRedisTier, type RedisTierOptions } from './redis-tier.ts'

export class SharedCacheRegistry {
  readonly #links: RedisRegistry
  readonly #storesByConfig = new RefCountedMap<RedisCacheStore>()
  readonly #stores = new Set<RedisCacheStore>()
  /** The last closed store, until a store with the same keys opens and takes over its pending purges. */
  #closedStore: RedisCacheStore | null = null

  constructor(logEvent: LogEvent) {
    const logChange = calmChanges(logEvent, 'cache is shared', 'cache is not shared')
    this.#links = new RedisRegistry((isShared, reason) => {
      logChange(isShared, reason)
      if (!isShared) return
      // Not at the next lookup: other gateways look up too.
      for (const store of this.#stores) void store.purges.resend()
    })
  }

  acquire(redis: RedisConfig) {
    const name = JSON.stringify(redis)
    const { link, release } = this.#links.acquire(redis, 'responses')
    const space = { prefix: redis.prefix, isCluster: redis.cluster !== null }
    const store = this.#storesByConfig.acquire(name, () =>
      createRedisCacheStore(link, space, this.#pendingKeysOf(space)),
    )
    this.#stores.add(store)
    if (this.#closedStore !== null && isSameSpace(this.#closedStore.space, space)) this.#closedStore = null
    return {
      createTier: (options: Omit<RedisTierOptions, 'store'>) => createRedisTier({ ...options, store }),
      state: () => ({ isShared: link.isShared, since: link.since, reason: link.reason, counts: { ...store.counts } }),
      release: (): void => {
        if (this.#storesByConfig.release(name) !== null) {
          this.#stores.delete(store)
          const other = [...this.#stores].find((each) => isSameSpace(each.space, space))
          if (other === undefined) this.#closedStore = store
          // The other store may have opened before these purges.
          else if (store.purges.keys().length > 0) void other.purges.add(store.purges.keys())
        }
        release()
      },
    }
  }

  /** A new password or timeout makes a new store for the same Redis. Another Redis loses a few responses. */
  #pendingKeysOf(space: CacheKeySpace): readonly string[] {
    const same = [...this.#stores, this.#closedStore ?? []].flat().filter((store) => isSameSpace(store.space, space))
    return [...new Set(same.flatMap(({ purges }) => purges.keys()))]
  }

  /** Resolves with whether every Redis acknowledged. */
  async purge(scope: PurgeScope): Promise<boolean> {
    const purgeIn = (store: RedisCacheStore) => store.purges.add(purgedGenerationKeys(store.space, scope))
    if (this.#closedStore !== null) void purgeIn(this.#closedStore)
    const purged = await Promise.all([...this.#stores].map(purgeIn))
    return purged.every((isPurged) => isPurged)
  }

  /** As `Invalidate`. Null: no Redis is available; it gets the invalidations when it is back. */
  invalidate(targets: readonly InvalidationTarget[]): Promise<void> | null {
    const keysIn = ({ space }: RedisCacheStore): readonly string[] =>
      targets.map(({ operation, query }) => queryGenerationKey(space, operation, query))
    if (this.#closedStore !== null) void this.#closedStore.purges.add(keysIn(this.#closedStore))
    const [first, ...others] = [...this.#stores].flatMap((store) => store.renewGenerationsInTime(keysIn(store)) ?? [])
    if (first === undefined) return null
    return (others.length === 0 ? first : Promise.all([first, ...others])).then(() => {})
  }
}

const isSameSpace = (one: CacheKeySpace, other: CacheKeySpace): boolean =>
  one.prefix === other.prefix && one.isCluster === other.isCluster
