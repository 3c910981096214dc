import type { CacheOutcome } from '../../exchange.ts'
import { pluck, sumReports, worstWorker } from '../../observe/sum-reports.ts'
import { allOperations, type OperationId } from '../../operations.ts'
import type { SharedCacheState } from '../resources/shared-cache-registry.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** Is what a process has stored, as plain data; null: no operation is cached. */
export interface CacheReport {
  readonly bytes: number
  readonly maxBytes: number
  /** How often something stored had to make room. */
  readonly evictions: number
  /** Null: there is no second level. */
  readonly redis: SharedCacheReport | null
  readonly operations: readonly OperationCacheReport[]
}

/** Is what a process has of the second level. */
export interface SharedCacheReport extends SharedCacheState {
  /** In which of several workers it is in that state: `in 1 of 2 workers`; null: in all. */
  readonly where: string | null
}

/** Is what is stored of one operation, and what became of the requests for it. */
export interface OperationCacheReport {
  readonly operation: OperationId
  readonly bytes: number
  /** How many answers are stored. */
  readonly entries: number
  readonly outcomes: Readonly<Record<CacheOutcome, number>>
}

/** Reports on what is stored for a snapshot. */
export const collectCacheReport = ({ caches }: Snapshot): CacheReport | null => {
  if (!caches.isUsed) return null
  const { bytes, maxBytes, evictions } = caches.state()
  const redis = caches.sharedState()
  return {
    bytes,
    maxBytes,
    evictions,
    redis: redis && { ...redis, where: null },
    operations: allOperations.flatMap(({ id: operation }): readonly OperationCacheReport[] => {
      const partition = caches.get(operation)
      if (partition === null) return []
      return [{ operation, bytes: partition.bytes, entries: partition.entries, outcomes: { ...partition.counts } }]
    }),
  }
}

/** Makes one report of several workers, each of which stores for itself. */
export const mergeCacheReports = (primary: CacheReport | null, workers: readonly CacheReport[]): CacheReport | null =>
  primary && {
    ...sumReports(primary, workers),
    redis: mergeSharedCaches(pluck(workers, 'redis')),
    operations: primary.operations.map((each) =>
      sumReports(
        each,
        workers.flatMap(({ operations }) => operations.filter(({ operation }) => operation === each.operation)),
      ),
    ),
  }

const mergeSharedCaches = (workers: readonly SharedCacheReport[]): SharedCacheReport | null => {
  const worst = worstWorker(workers, ({ state }) => state === 'local')
  return worst && { ...worst, counts: sumReports(worst.counts, pluck(workers, 'counts')) }
}
