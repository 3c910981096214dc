import { hash } from 'node:crypto'
import type { Config, UpstreamConfig } from '../../core/config/config.ts'
import { RefCountedMap } from '../../core/lib/memo.ts'
import type { LogEvent } from '../../core/log/log.ts'
import type { OtherSide } from '../../core/runtime/runtime-part.ts'
import { allOperations, type Group, type Operation, type OperationId, type Side } from '../../operations.ts'
import type { CacheEvents, SharedTier } from './fetch-context.ts'
import type { Invalidate, InvalidationTarget } from './invalidation.ts'
import { CachePartition } from './partition.ts'
import type { SharedCacheRegistry } from './redis/shared-cache-registry.ts'
import { CacheStore, type PurgeScope } from './store/cache-store.ts'

export type CacheLease = ReturnType<CacheRegistry['acquire']>

export interface PurgeResult {
  readonly removed: number
  /** Whether Redis knows of the purge, or is not used. */
  readonly isSharedPurged: boolean
}

/**
 * The stored responses of each operation. They stay as long as the operation's own configuration and its upstream's
 * stay as they are: after any other edit, a stored response might not be what the upstream would send now. One for each
 * process; all snapshots share it.
 */
export class CacheRegistry {
  readonly #store = new CacheStore(0)
  readonly #partitions = new RefCountedMap<CachePartition>()
  readonly #events: CacheEvents
  readonly #notifyPeers: (targets: readonly InvalidationTarget[]) => void
  readonly #sharedCaches: SharedCacheRegistry | null

  /**
   * `notifyPeers` is called with what has become invalid: other processes may have stored it too. `sharedCaches` is
   * null in a process that serves no clients.
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

  /**
   * Acquires what a configuration needs. The stored responses of an operation are still there if nothing that shapes
   * them has changed. `otherSide` finds the side of a group whose responses are stored too.
   */
  acquire(config: Config, otherSide: (group: Group) => Pick<OtherSide, 'upstream'> | null = () => null) {
    const { maxBytes, credentials, redis } = config.cache
    const cached = allOperations.filter(({ id }) => config.operations[id].cache !== null)
    const stores = new Map(
      cached.flatMap((operation) =>
        sideFingerprints(config, operation, otherSide(operation.group)).map(([side, fingerprint]) => {
          const partition = this.#partitions.acquire(fingerprint, () => new CachePartition(this.#store, operation.id))
          return [`${operation.id} ${side}`, { fingerprint, partition }] as const
        }),
      ),
    )
    const sharedLease = redis !== null && cached.length > 0 ? (this.#sharedCaches?.acquire(redis) ?? null) : null
    return {
      getSharedTier: (id: OperationId, side: Side): SharedTier | null => {
        const rules = config.operations[id].cache
        const stored = stores.get(`${id} ${side}`)
        if (sharedLease === null || rules === null || stored === undefined) return null
        return sharedLease.createTier({
          partition: stored.partition,
          rules: { ...rules, credentials },
          events: this.#events,
          shape: hash('sha256', stored.fingerprint, 'base64url'),
        })
      },
      sharedState: () => sharedLease?.state() ?? null,
      /** Returns what is stored of an operation and a side of its group. Null: it is not cached, or not in use. */
      get: (id: OperationId, side: Side): CachePartition | null => stores.get(`${id} ${side}`)?.partition ?? null,
      isUsed: cached.length > 0,
      events: this.#events,
      /** Removes what has become invalid: here, in the other processes, and in Redis, which is waited for. */
      invalidate: (targets: readonly InvalidationTarget[]): ReturnType<Invalidate> => {
        const shared = this.invalidate(targets)
        this.#notifyPeers(targets)
        return shared
      },
      state: (): Pick<CacheStore, 'bytes' | 'maxBytes' | 'evictions'> => this.#store,
      activate: () => this.#store.setMaxBytes(maxBytes),
      release: () => {
        for (const { fingerprint } of stores.values()) this.#partitions.release(fingerprint)?.close()
        sharedLease?.release()
      },
    }
  }

  async purge(scope: PurgeScope): Promise<PurgeResult> {
    const removed = this.#store.purge(scope)
    return { removed, isSharedPurged: (await this.#sharedCaches?.purge(scope)) ?? true }
  }

  /**
   * Removes what an unsafe request has made invalid (RFC 9111 §4.4), here and in Redis. Returns what {@link Invalidate}
   * does.
   */
  invalidate(targets: readonly InvalidationTarget[]): Promise<void> | null {
    for (const { operation, query } of targets) this.#store.invalidate(operation, query)
    return this.#sharedCaches?.invalidate(targets) ?? null
  }
}

/**
 * Lists what decides the responses of each side of an operation. It does not name the side: a candidate that becomes
 * the upstream keeps what is stored. Only where the sides differ in nothing else, it does.
 */
const sideFingerprints = (
  config: Config,
  operation: Operation,
  other: Pick<OtherSide, 'upstream'> | null,
): readonly (readonly [Side, string])[] => {
  const upstream = config.upstreams[operation.group]
  const primary = responseFingerprint(config, operation, upstream)
  if (other === null) return [['primary', primary]]
  const candidate = responseFingerprint(config, operation, other.upstream)
  return [
    ['primary', primary],
    ['candidate', candidate === primary ? `candidate ${candidate}` : candidate],
  ]
}

/**
 * Serialises everything that decides what a response is. How endpoints share the work, and in which order they are
 * tried, does not.
 */
const responseFingerprint = (
  { operations, auth, cache, contract, compiledContract, requestId }: Config,
  { id }: Operation,
  { endpoints, host, request, response, tls }: UpstreamConfig,
): string => {
  const origins = endpoints.map(({ origin, pathPrefix }) => origin + pathPrefix).toSorted()
  const { response: mode, unchecked } = operations[id].contract
  const identitySettings = auth === null ? null : [auth.identityField, auth.credentials]
  return JSON.stringify([
    id,
    operations[id].cache,
    // A response that was stored for a client's credentials must not outlive the edit that says that they are some.
    cache.credentials,
    operations[id].auth,
    mode === 'enforce' ? [compiledContract?.digest, unchecked, contract?.maxBody] : null,
    origins,
    host,
    request,
    response,
    tls,
    identitySettings,
    // Upstreams repeat the id of a request in its field, which clients get of their own request alone.
    requestId.header,
  ])
}
