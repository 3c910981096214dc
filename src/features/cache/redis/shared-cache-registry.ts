import { RefCountedMap } from '../../../core/lib/memo.ts'
import type { LogEvent } from '../../../core/log/log.ts'
import type { RedisConfig } from '../../redis/config.ts'
import type { RedisState } from '../../redis/managed-redis.ts'
import { calmChanges, RedisRegistry } from '../../redis/redis-registry.ts'
import type { SharedTier } from '../fetch-context.ts'
import type { InvalidationTarget } from '../invalidation.ts'
import type { PurgeScope } from '../store/cache-store.ts'
import { type RedisCacheCounts, RedisCacheStore } from './redis-cache-store.ts'
import { type CacheKeySpace, purgedGenerationKeys, queryGenerationKey } from './redis-entry.ts'
import { RedisTier, type RedisTierOptions } from './redis-tier.ts'

/** The shared tiers of a process, with the connection to each, and with the purges that Redis has yet to learn of. */
export class SharedCacheRegistry {
  readonly #links: RedisRegistry
  readonly #storesByConfig = new RefCountedMap<RedisCacheStore>()
  readonly #stores = new Set<RedisCacheStore>()
  /**
   * The last one that was closed, while no other of its keys is open: the next tells Redis what this one could not, and
   * what has ended since. Null: there is none.
   */
  #closedStore: RedisCacheStore | null = null

  constructor(logEvent: LogEvent) {
    const logChange = calmChanges(logEvent, 'cache is shared', 'cache is not shared')
    this.#links = new RedisRegistry((isShared, reason) => {
      logChange(isShared, reason)
      if (!isShared) return
      // Not only at the next lookup: other gateways look up too.
      for (const store of this.#stores) store.resendRenewals()
    })
  }

  acquire(redis: RedisConfig) {
    const name = JSON.stringify(redis)
    const { link, release } = this.#links.acquire(redis, 'cache')
    const space = { prefix: redis.prefix, isCluster: redis.cluster !== null }
    const store = this.#storesByConfig.acquire(name, () => new RedisCacheStore(link, space, this.#pendingKeysOf(space)))
    this.#stores.add(store)
    if (this.#closedStore !== null && isSameSpace(this.#closedStore.space, space)) this.#closedStore = null
    return {
      createTier: (options: Omit<RedisTierOptions, 'store'>): SharedTier => new RedisTier({ ...options, store }),
      state: (): RedisState & { readonly counts: RedisCacheCounts } => {
        const { isShared, since, reason } = link
        return { isShared, since, reason, counts: { ...store.counts } }
      },
      release: (): void => {
        if (this.#storesByConfig.release(name) !== null) {
          this.#stores.delete(store)
          const other = [...this.#stores].find((each) => isSameSpace(each.space, space))
          if (other === undefined) this.#closedStore = store
          // Not only those that the other began with.
          else if (store.pendingKeys.length > 0) void other.renewGenerations(store.pendingKeys)
        }
        release()
      },
    }
  }

  /**
   * Lists what a Redis has yet to learn. A new password or time-out is another way to the same one, and the old way is
   * closed. Another Redis loses a few responses by it.
   */
  #pendingKeysOf(space: CacheKeySpace): readonly string[] {
    const same = [...this.#stores, this.#closedStore ?? []].flat().filter((store) => isSameSpace(store.space, space))
    return [...new Set(same.flatMap(({ pendingKeys }) => pendingKeys))]
  }

  /** Makes sure that no gateway finds what is purged any more. Tells whether every Redis knows. */
  async purge(scope: PurgeScope): Promise<boolean> {
    const purgeIn = (store: RedisCacheStore) => store.renewGenerations(purgedGenerationKeys(store.space, scope))
    if (this.#closedStore !== null) void purgeIn(this.#closedStore)
    const purged = await Promise.all([...this.#stores].map(purgeIn))
    return purged.every((isPurged) => isPurged)
  }

  /**
   * Makes sure that no gateway finds what has become invalid. Resolves when every Redis knows, or has had the time that
   * a lookup has. Null: no Redis can be told now. What it was not told, it is told when it can be.
   */
  invalidate(targets: readonly InvalidationTarget[]): Promise<void> | null {
    const keysIn = ({ space }: RedisCacheStore): readonly string[] =>
      targets.map(({ operation, query }) => queryGenerationKey(space, operation, query))
    if (this.#closedStore !== null) void this.#closedStore.renewGenerations(keysIn(this.#closedStore))
    let told: Promise<unknown> | null = null
    for (const store of this.#stores) {
      const renewed = store.renewGenerationsInTime(keysIn(store))
      if (renewed !== null) told = told === null ? renewed : Promise.all([told, renewed])
    }
    return told === null ? null : told.then(() => {})
  }
}

const isSameSpace = (one: CacheKeySpace, other: CacheKeySpace): boolean =>
  one.prefix === other.prefix && one.isCluster === other.isCluster
