import type { StoredError } from '../../../features/cache/partition.ts'
import type { SharedCacheState } from '../../../features/cache/redis/shared-cache-registry.ts'
import { describeRedis } from '../../../features/redis/redis-settings.ts'
import { allOperations, type OperationId, sides } from '../../../operations.ts'
import type { CacheOutcome } from '../../exchange/exchange-outcomes.ts'
import { pluck, sum, sumReports, type WithWhere, worstWorker } from '../../log/sum-reports.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** What a process has stored, as plain data. Null: no operation is cached. */
export interface CacheReport {
  readonly bytes: number
  readonly maxBytes: number
  readonly evictions: number
  readonly redis: SharedCacheReport | null
  readonly operations: readonly OperationCacheReport[]
}

interface SharedCacheReport extends WithWhere<SharedCacheState> {
  /** The Redis, without a secret. */
  readonly server: string
}

interface OperationCacheReport {
  readonly operation: OperationId
  readonly bytes: number
  readonly entries: number
  readonly outcomes: Readonly<Record<CacheOutcome, number>>
  readonly lastError: StoredError | null
}

export const collectCacheReport = ({ caches, config }: Snapshot): CacheReport | null => {
  if (!caches.isUsed) return null
  const { bytes, maxBytes, evictions } = caches.state()
  const redis = caches.sharedState()
  const server = config.cache.redis && describeRedis(config.cache.redis)
  return {
    bytes,
    maxBytes,
    evictions,
    redis: redis && server !== null ? { ...redis, server, where: null } : null,
    operations: allOperations.flatMap(({ id: operation }): readonly OperationCacheReport[] => {
      const partitions = sides.flatMap((side) => caches.get(operation, side) ?? [])
      const [primary] = partitions
      if (primary === undefined) return []
      const bytesOfSides = sum(partitions.map((each) => each.bytes))
      const entries = sum(partitions.map((each) => each.entries))
      const { counts, lastError } = primary.tally
      return [{ operation, bytes: bytesOfSides, entries, outcomes: { ...counts }, lastError }]
    }),
  }
}

/** Merges the reports of several workers, each of which stores for itself. */
export const mergeCacheReports = (primary: CacheReport | null, workers: readonly CacheReport[]): CacheReport | null =>
  primary && {
    ...sumReports(primary, workers),
    redis: mergeSharedCaches(pluck(workers, 'redis')),
    operations: primary.operations.map((each) => {
      const same = workers.flatMap(({ operations }) =>
        operations.filter(({ operation }) => operation === each.operation),
      )
      const [lastError = null] = pluck(same, 'lastError').toSorted((a, b) => b.servedAt - a.servedAt)
      return { ...sumReports(each, same), lastError }
    }),
  }

const mergeSharedCaches = (workers: readonly SharedCacheReport[]): SharedCacheReport | null => {
  const worst = worstWorker(workers, ({ state }) => state === 'local')
  return worst && { ...worst, counts: sumReports(worst.counts, pluck(workers, 'counts')) }
}
