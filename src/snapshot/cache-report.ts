import { catalog, type OperationId } from '../catalog.ts'
import type { CacheOutcome } from '../exchange.ts'
import type { SecondState } from './seconds.ts'
import type { Snapshot } from './snapshot.ts'
import { sum } from './sum.ts'

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

/** Makes one report of several workers, each of which stores for itself; at least one. */
export const mergeCaches = (primary: CacheReport | null, workers: readonly CacheReport[]): CacheReport | null =>
  primary && {
    bytes: sum(workers.map(({ bytes }) => bytes)),
    maxBytes: sum(workers.map(({ maxBytes }) => maxBytes)),
    evictions: sum(workers.map(({ evictions }) => evictions)),
    redis: mergeSeconds(workers.flatMap(({ redis }) => redis ?? [])),
    operations: primary.operations.map((each) =>
      merge(
        each,
        workers.flatMap(({ operations }) => operations.filter(({ operation }) => operation === each.operation)),
      ),
    ),
  }

/** Says the worst that is known. */
const mergeSeconds = (workers: readonly SecondReport[]): SecondReport | null => {
  const local = workers.filter(({ state }) => state === 'local')
  const told = local.length > 0 ? local : workers
  const [first] = told
  if (first === undefined) return null
  return {
    state: first.state,
    reason: first.reason,
    since: Math.min(...told.map(({ since }) => since)),
    found: sum(workers.map(({ found }) => found)),
    refused: sum(workers.map(({ refused }) => refused)),
    dropped: sum(workers.map(({ dropped }) => dropped)),
    where: told.length === workers.length ? null : `in ${told.length} of ${workers.length} workers`,
  }
}

const merge = ({ operation, outcomes }: CachedReport, workers: readonly CachedReport[]): CachedReport => ({
  operation,
  bytes: sum(workers.map(({ bytes }) => bytes)),
  entries: sum(workers.map(({ entries }) => entries)),
  outcomes: Object.fromEntries(
    Object.keys(outcomes).map((name) => [name, sum(workers.map((each) => each.outcomes[name as CacheOutcome]))]),
  ) as Record<CacheOutcome, number>,
})
