import { asNullable, asNumber } from '../../core/lib/text/decode.ts'
import { sum } from '../../core/log/sum-reports.ts'
import type { Snapshot } from '../../core/runtime/snapshot/snapshot.ts'
import * as field from '../../core/runtime/status/field.ts'
import type { ReportSection } from '../../core/runtime/status/status-part.ts'
import { allOperations, type OperationId, sides } from '../../operations.ts'
import { describeRedis } from '../redis/redis-settings.ts'
import type { StoredError } from './store/cache-store.ts'
import { zeroCacheOutcomes, zeroRedisCacheCounts } from './store/stored-response.ts'

const redis = field.record({
  server: field.text,
  state: field.word<'shared' | 'local'>(),
  since: field.time,
  reason: field.optionalText,
  ...field.counts(zeroRedisCacheCounts),
  where: field.optionalText,
})

const ofOperation = field.record({
  operation: field.hidden<OperationId>(),
  bytes: field.total,
  entries: field.total,
  /** Of requests that did not bypass the cache; null: no requests. */
  hitRatio: field.derived(
    asNullable(asNumber),
    ({ hit, stale, miss, revalidated, collapsed }: typeof zeroCacheOutcomes) => {
      const lookups = sum([hit, stale, miss, revalidated, collapsed])
      return lookups === 0 ? null : Math.round(((hit + stale) / lookups) * 1000) / 1000
    },
  ),
  ...field.counts(zeroCacheOutcomes),
  /** Null: no client got a stored error. */
  lastError: field.hidden<StoredError | null>(
    (_, workers) => workers.filter((one) => one !== null).toSorted((a, b) => b.servedAt - a.servedAt)[0] ?? null,
  ),
})

/** Null: no operation is cached. */
export const cacheField = field.nullable(
  field.record({
    bytes: field.total,
    maxBytes: field.total,
    evictions: field.count,
    /** Null: `cache.redis` is not set. */
    redis: field.nullable(field.worst(redis, ({ state }) => state === 'local')),
    operations: field.mapOf('operation', ofOperation),
  }),
)

const collectCache = ({ parts: { cache }, config }: Snapshot): field.Reported<typeof cacheField> => {
  const caches = cache?.lease
  if (caches?.isUsed !== true) return null
  const { bytes, maxBytes, evictions } = caches.state()
  const operations = allOperations.flatMap(({ id: operation }) => {
    const partitions = sides.flatMap((side) => caches.get(operation, side) ?? [])
    const [primary] = partitions
    if (primary === undefined) return []
    const [bytes, entries] = [sum(partitions.map((each) => each.bytes)), sum(partitions.map((each) => each.entries))]
    return [{ operation, bytes, entries, ...primary.tally.counts, lastError: primary.tally.lastError }]
  })
  const shared = caches.sharedState()
  if (shared === null || config.cache.redis === null) return { bytes, maxBytes, evictions, redis: null, operations }
  const { isShared, since, reason, counts } = shared
  const state = isShared ? 'shared' : 'local'
  const redis = { server: describeRedis(config.cache.redis), state, since, reason, ...counts, where: null } as const
  return { bytes, maxBytes, evictions, redis, operations }
}

declare module '../../core/runtime/status/status-part.ts' {
  interface StatusReport {
    readonly cache: field.Reported<typeof cacheField>
  }
}

export const reported: readonly ReportSection[] = [{ key: 'cache', field: cacheField, collect: collectCache }]
