import { RefCountedMap } from '../../../core/lib/memo.ts'
import type { LogEvent } from '../../../core/log/log.ts'
import type { RedisConfig } from '../../redis/config.ts'
import { calmChanges, RedisRegistry } from '../../redis/redis-registry.ts'
import type { InvalidationTarget } from '../invalidation.ts'
import type { PurgeScope } from '../store/cache-store.ts'
import { createRedisCacheStore, type RedisCacheStore } from './redis-cache-store.ts'
import { type CacheKeySpace, purgedGenerationKeys, queryGenerationKey } from './redis-entry.ts'
import { createRedisTier, type RedisTierOptions } from './redis-tier.ts'

export type SharedCacheRegistry = ReturnType<typeof createSharedCacheRegistry>

export const createSharedCacheRegistry = (logEvent: LogEvent) => {
  const storesByConfig = new RefCountedMap<RedisCacheStore>()
  const stores = new Set<RedisCacheStore>()
  /** Kept until a store with the same keys opens and takes over its pending purges. */
  let closedStore: RedisCacheStore | null = null
  const logChange = calmChanges(logEvent, 'cache is shared', 'cache is not shared')
  const links = new RedisRegistry((isShared, reason) => {
    logChange(isShared, reason)
    // At once: other gateways read the same entries.
    if (isShared) for (const store of stores) void store.purges.resend()
  })

  /** A new password or timeout makes a new store for the same Redis, which takes over these purges. */
  const pendingKeysOf = (space: CacheKeySpace): readonly string[] => {
    const same = [...stores, closedStore ?? []].flat().filter((store) => isSameSpace(store.space, space))
    return [...new Set(same.flatMap(({ purges }) => purges.keys()))]
  }

  return {
    acquire(redis: RedisConfig) {
      const name = JSON.stringify(redis)
      const { link, release } = links.acquire(redis, 'responses')
      const space = { prefix: redis.prefix, isCluster: redis.cluster !== null }
      const store = storesByConfig.acquire(name, () => createRedisCacheStore(link, space, pendingKeysOf(space)))
      stores.add(store)
      if (closedStore !== null && isSameSpace(closedStore.space, space)) closedStore = null
      return {
        createTier: (options: Omit<RedisTierOptions, 'store'>) => createRedisTier({ ...options, store }),
        state: () => ({ isShared: link.isShared, since: link.since, reason: link.reason, counts: { ...store.counts } }),
        release: (): void => {
          if (storesByConfig.release(name) !== null) {
            stores.delete(store)
            const other = [...stores].find((each) => isSameSpace(each.space, space))
            if (other === undefined) closedStore = store
            // The other store may have opened before these purges.
            else if (store.purges.keys().length > 0) void other.purges.add(store.purges.keys())
          }
          release()
        },
      }
    },
    async purge(scope: PurgeScope): Promise<boolean> {
      const purgeIn = (store: RedisCacheStore) => store.purges.add(purgedGenerationKeys(store.space, scope))
      if (closedStore !== null) void purgeIn(closedStore)
      const purged = await Promise.all([...stores].map(purgeIn))
      return purged.every((isPurged) => isPurged)
    },
    /** Null: no Redis is available; invalidations are sent when it returns. */
    invalidate(targets: readonly InvalidationTarget[]): Promise<void> | null {
      const keysIn = ({ space }: RedisCacheStore): readonly string[] =>
        targets.map(({ operation, query }) => queryGenerationKey(space, operation, query))
      if (closedStore !== null) void closedStore.purges.add(keysIn(closedStore))
      const [first, ...others] = [...stores].flatMap((store) => store.renewGenerationsInTime(keysIn(store)) ?? [])
      if (first === undefined) return null
      return (others.length === 0 ? first : Promise.all([first, ...others])).then(() => {})
    },
  }
}

const isSameSpace = (one: CacheKeySpace, other: CacheKeySpace): boolean =>
  one.prefix === other.prefix && one.isCluster === other.isCluster
