import { createHash } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { CacheStore, type PurgeScope } from '../../layers/cache/cache-store.ts'
import type { CacheEvents, SharedTier } from '../../layers/cache/fetch-context.ts'
import type { InvalidationTarget } from '../../layers/cache/invalidation.ts'
import type { CachePartition } from '../../layers/cache/partition.ts'
import { allOperations, type Operation, type OperationId } from '../../operations.ts'
import type { LogEvent } from '../../shared/log-event.ts'
import { RefCountedMap } from '../../shared/ref-counted-map.ts'
import type { SharedCacheRegistry, SharedCacheState } from './shared-cache-registry.ts'

/** Is what a snapshot has of the cache. */
export interface CacheLease {
  /** Finds what is stored of an operation; null: it is not cached. */
  get(id: OperationId): CachePartition | null
  /** Makes the way to what other gateways have stored of an operation; null: there is none. */
  getSharedTier(id: OperationId): SharedTier | null
  /** Whether any operation is cached. */
  readonly isUsed: boolean
  /** Hears what no client is told. */
  readonly events: CacheEvents
  /** Removes what has become invalid, here and in the other processes that serve. */
  invalidate(targets: readonly InvalidationTarget[]): void
  /** Tells how full it is. */
  state(): { readonly bytes: number; readonly maxBytes: number; readonly evictions: number }
  /** Tells how the second level does; null: there is none. */
  sharedState(): SharedCacheState | null
  /** Has the bound of its configuration hold. */
  activate(): void
  release(): void
}

/** Is what became of an order to remove what is stored, in one process. */
export interface PurgeResult {
  /** How many answers were removed. */
  readonly removed: number
  /** Whether the second level knows, or there is none. */
  readonly isSharedPurged: boolean
}

/**
 * Keeps what is stored of each operation as long as its own configuration and what stands behind it stay as they are: after any other edit of
 * them, what is stored might not be what the upstream would answer now. One for each process; every snapshot takes part.
 */
export class CacheRegistry {
  readonly #store = new CacheStore(0)
  readonly #partitions = new RefCountedMap<CachePartition>()
  readonly #events: CacheEvents
  readonly #notifyPeers: (targets: readonly InvalidationTarget[]) => void
  readonly #sharedCaches: SharedCacheRegistry | null

  /**
   * `notifyPeers` is told what has become invalid: other processes may have stored it too. `seconds`: the second levels of whoever serves clients; null
   * where nobody does.
   */
  constructor(
    logEvent: LogEvent,
    notifyPeers: (targets: readonly InvalidationTarget[]) => void = () => {},
    sharedCaches: SharedCacheRegistry | null = null,
  ) {
    this.#notifyPeers = notifyPeers
    this.#sharedCaches = sharedCaches
    this.#events = {
      onError: (error) => logEvent('warn', 'cache failed', { err: error }),
      onRevalidationFailed: ({ kind }) => logEvent('info', 'not refreshed', { failure: kind }),
    }
  }

  /** Takes what a configuration needs. What was stored for an operation is still there if nothing that shapes it has changed. */
  acquire(config: Config): CacheLease {
    const { maxBytes, credentials, redis } = config.cache
    const cached = allOperations.filter(({ id }) => config.operations[id].cache !== null)
    const fingerprints = new Map(cached.map((operation) => [operation.id, responseFingerprint(config, operation)]))
    const partitions = new Map(
      [...fingerprints].map(([id, name]) => [id, this.#partitions.acquire(name, () => this.#store.openPartition(id))]),
    )
    const sharedLease = redis !== null && cached.length > 0 ? (this.#sharedCaches?.acquire(redis) ?? null) : null
    return {
      getSharedTier: (id) => {
        const [rules, partition, shape] = [config.operations[id].cache, partitions.get(id), fingerprints.get(id)]
        if (sharedLease === null || rules === null || partition === undefined || shape === undefined) return null
        return sharedLease.createTier({
          partition,
          rules: { ...rules, credentials },
          events: this.#events,
          shape: createHash('sha256').update(shape).digest('base64url'),
        })
      },
      sharedState: () => sharedLease?.state() ?? null,
      get: (id) => partitions.get(id) ?? null,
      isUsed: cached.length > 0,
      events: this.#events,
      invalidate: (targets) => {
        this.invalidate(targets)
        this.#notifyPeers(targets)
      },
      state: () => this.#store,
      activate: () => this.#store.setMaxBytes(maxBytes),
      release: () => {
        for (const name of fingerprints.values()) this.#partitions.release(name)?.close()
        sharedLease?.release()
      },
    }
  }

  /** Removes what is stored, and what other gateways could find of it. */
  async purge(what: PurgeScope): Promise<PurgeResult> {
    const removed = this.#store.purge(what)
    return { removed, isSharedPurged: (await this.#sharedCaches?.purge(what)) ?? true }
  }

  /** Removes what an unsafe request has made invalid (RFC 9111 §4.4). */
  invalidate(targets: readonly InvalidationTarget[]): void {
    for (const { operation, query } of targets) this.#store.invalidate(operation, query)
    this.#sharedCaches?.invalidate(targets)
  }
}

/** Writes all that decides what an answer is. How endpoints share the work, and who is asked first, does not. */
const responseFingerprint = ({ operations, upstreams, auth }: Config, { id, group }: Operation): string => {
  const { endpoints, host, request, response, tls } = upstreams[group]
  const origins = endpoints.map(({ origin, pathPrefix }) => origin + pathPrefix)
  const identitySettings = auth === null ? null : [auth.identityField, auth.credentials]
  return JSON.stringify([
    id,
    operations[id].cache,
    operations[id].auth,
    origins,
    host,
    request,
    response,
    tls,
    identitySettings,
  ])
}

/** Has nothing stored, for whoever serves nothing: to tell of a configuration, say. */
export const createEmptyCache = (config: Config): CacheLease => new CacheRegistry(() => {}).acquire(config)
