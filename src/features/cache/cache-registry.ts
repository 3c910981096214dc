import { hash } from 'node:crypto'
import type { Config, UpstreamConfig } from '../../core/config/config.ts'
import { askFacts, partitionFields } from '../../core/config/config-facts.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { RefCountedMap } from '../../core/lib/memo.ts'
import type { LogEvent } from '../../core/log/log.ts'
import type { OtherSide } from '../../core/runtime/runtime-part.ts'
import { allOperations, type Group, type Operation, type OperationId, type Side } from '../../operations.ts'
import { cacheLayer } from './cache.ts'
import type { CacheEvents } from './fetch-context.ts'
import type { Invalidate, InvalidationTarget } from './invalidation.ts'
import { type CachePartition, createCachePartition } from './partition.ts'
import type { SharedCacheRegistry } from './redis/shared-cache-registry.ts'
import { CacheStore, type PurgeScope } from './store/cache-store.ts'

export type CacheLease = ReturnType<ReturnType<typeof createCacheRegistry>['acquire']>

export interface PurgeResult {
  readonly removed: number
  /** Also true without Redis. */
  readonly isSharedPurged: boolean
}

/** A reload keeps stored responses unless it changes what upstreams send. `sharedCaches` null: no traffic is served. */
export const createCacheRegistry = (
  logEvent: LogEvent,
  notifyPeers: (targets: readonly InvalidationTarget[]) => void = () => {},
  sharedCaches: SharedCacheRegistry | null = null,
) => {
  const store = new CacheStore(0)
  const partitions = new RefCountedMap<CachePartition>()
  const events: CacheEvents = {
    onError: (error) => logEvent('warn', 'cache failed', { err: error }),
    onRevalidationFailed: ({ kind }) => logEvent('info', 'not refreshed', { failure: kind }),
  }

  /** RFC 9111 §4.4, in this process and in Redis. */
  const invalidate: Invalidate = (targets) => {
    for (const { operation, query } of targets) store.invalidate(operation, query)
    return sharedCaches?.invalidate(targets) ?? null
  }

  return {
    invalidate,
    acquire(config: Config, otherSide: (group: Group) => Pick<OtherSide, 'upstream'> | null = () => null) {
      const { maxBytes, credentials, redis } = config.cache
      const cached = allOperations.filter(({ id }) => config.operations[id].cache !== null)
      const stores = new Map(
        cached.flatMap((operation) =>
          [...sideFingerprints(config, operation, otherSide(operation.group))].map(([side, fingerprint]) => {
            const partition = partitions.acquire(fingerprint, () => createCachePartition(store, operation.id))
            return [`${operation.id} ${side}`, { fingerprint, partition }] as const
          }),
        ),
      )
      const sharedLease = redis !== null && cached.length > 0 ? (sharedCaches?.acquire(redis) ?? null) : null
      return {
        layer: (id: OperationId, side: Side): Layer | null => {
          const policy = config.operations[id].cache
          const stored = stores.get(`${id} ${side}`)
          if (policy === null || stored === undefined) return null
          const { partition, fingerprint } = stored
          const rules = { ...policy, credentials }
          const shape = hash('sha256', fingerprint, 'base64url')
          return cacheLayer(rules, partition, events, sharedLease?.createTier({ partition, rules, events, shape }))
        },
        sharedState: () => sharedLease?.state() ?? null,
        get: (id: OperationId, side: Side): CachePartition | null => stores.get(`${id} ${side}`)?.partition ?? null,
        isUsed: cached.length > 0,
        /** Also in the other processes, and in Redis; waits for Redis only. */
        invalidate: (targets: readonly InvalidationTarget[]): ReturnType<Invalidate> => {
          const shared = invalidate(targets)
          notifyPeers(targets)
          return shared
        },
        state: (): Pick<CacheStore, 'bytes' | 'maxBytes' | 'evictions'> => store,
        activate: () => store.setMaxBytes(maxBytes),
        release: () => {
          for (const { fingerprint } of stores.values()) partitions.release(fingerprint)?.close()
          sharedLease?.release()
        },
      }
    },
    async purge(scope: PurgeScope): Promise<PurgeResult> {
      const removed = store.purge(scope)
      return { removed, isSharedPurged: (await sharedCaches?.purge(scope)) ?? true }
    },
  }
}

/** A candidate that becomes the primary keeps its fingerprint, unless both were equal. */
const sideFingerprints = (
  config: Config,
  operation: Operation,
  other: Pick<OtherSide, 'upstream'> | null,
): ReadonlyMap<Side, string> => {
  const primary = responseFingerprint(config, operation, config.upstreams[operation.group])
  const sides = new Map<Side, string>([['primary', primary]])
  const candidate = other && responseFingerprint(config, operation, other.upstream)
  return candidate === null
    ? sides
    : sides.set('candidate', candidate === primary ? `candidate ${candidate}` : candidate)
}

/** Without the order and balancing of endpoints, which do not change responses. */
const responseFingerprint = (
  config: Config,
  { id }: Operation,
  { endpoints, host, request, response, tls }: UpstreamConfig,
): string => {
  const origins = endpoints.map(({ origin, pathPrefix }) => origin + pathPrefix).toSorted()
  const operation = config.operations[id]
  return JSON.stringify([
    id,
    operation.cache,
    // After an edit that names a credential field, responses stored for those credentials must go.
    partitionFields(config),
    askFacts((facts) => [[facts.shapesResponses?.(operation, config)]]),
    origins,
    host,
    request,
    response,
    tls,
    // Upstreams repeat this field, and a client may only get its own request's id.
    config.requestId.header,
  ])
}
