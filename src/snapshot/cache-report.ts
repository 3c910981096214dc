import { catalog, type OperationId } from '../catalog.ts'
import type { CacheOutcome } from '../exchange.ts'
import { added, pluck, worstOf } from '../observe/added.ts'
import type { SecondState } from './seconds.ts'
import type { Snapshot } from './snapshot.ts'

/** Is what a process has stored, as plain data; null: no operation is cached. */
export interface CacheReport {
  readonly bytes: number
  readonly maxBytes: number
  /** How often something stored had to make room. */
  readonly evictions: number
  /** Null: there is no second level. */
  readonly redis: SecondReport | null
  readonly operations: readonly CachedReport[]
}

/** Is what a process has of the second level. */
export interface SecondReport extends SecondState {
  /** In which of several workers it is in that state: `in 1 of 2 workers`; null: in all. */
  readonly where: string | null
}

/** Is what is stored of one operation, and what became of the requests for it. */
export interface CachedReport {
  readonly operation: OperationId
  readonly bytes: number
  /** How many answers are stored. */
  readonly entries: number
  readonly outcomes: Readonly<Record<CacheOutcome, number>>
}

/** Reports on what is stored for a snapshot. */
export const reportOnCache = ({ caches }: Snapshot): CacheReport | null => {
  if (!caches.isUsed) return null
  const { bytes, maxBytes, evictions } = caches.state()
  const redis = caches.secondState()
  return {
    bytes,
    maxBytes,
    evictions,
    redis: redis && { ...redis, where: null },
    operations: catalog.flatMap(({ id: operation }): readonly CachedReport[] => {
      const part = caches.of(operation)
      if (part === null) return []
      return [{ operation, bytes: part.bytes, entries: part.entries, outcomes: { ...part.counts } }]
    }),
  }
}

/** Makes one report of several workers, each of which stores for itself. */
export const mergeCaches = (primary: CacheReport | null, workers: readonly CacheReport[]): CacheReport | null =>
  primary && {
    ...added(primary, workers),
    redis: mergeSeconds(pluck(workers, 'redis')),
    operations: primary.operations.map((each) =>
      added(
        each,
        workers.flatMap(({ operations }) => operations.filter(({ operation }) => operation === each.operation)),
      ),
    ),
  }

const mergeSeconds = (workers: readonly SecondReport[]): SecondReport | null => {
  const worst = worstOf(workers, ({ state }) => state === 'local')
  return worst && { ...worst, counts: added(worst.counts, pluck(workers, 'counts')) }
}
