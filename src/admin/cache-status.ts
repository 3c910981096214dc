import type { CacheReport } from '../snapshot/cache-report.ts'
import { time } from './time.ts'

/** Tells what is stored, and of how much use it is. `hitRatio` is of the requests that did not pass the cache by; null: there was none. */
export const cacheStatus = (report: CacheReport | null) =>
  report && {
    bytes: report.bytes,
    maxBytes: report.maxBytes,
    evictions: report.evictions,
    redis: report.redis && { ...report.redis, since: time(report.redis.since) },
    operations: Object.fromEntries(
      report.operations.map(({ operation, bytes, entries, outcomes }) => {
        const { bypass, ...asked } = outcomes
        const all = Object.values(asked).reduce((sum, count) => sum + count, 0)
        const hitRatio = all === 0 ? null : Math.round(((outcomes.hit + outcomes.stale) / all) * 1000) / 1000
        return [operation, { bytes, entries, hitRatio, ...outcomes }]
      }),
    ),
  }
