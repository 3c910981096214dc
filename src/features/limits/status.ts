import type { Snapshot } from '../../core/runtime/snapshot/snapshot.ts'
import * as field from '../../core/runtime/status/field.ts'
import type { ReportSection } from '../../core/runtime/status/status-part.ts'
import { allOperations, groups } from '../../operations.ts'
import { describeRedis } from '../redis/redis-settings.ts'

/** Of rate limiters, and of Redis where it remembers proofs. */
const rate = field.record({
  store: field.word<'memory' | 'redis'>(),
  /** Without secrets. Null: counts are in memory. */
  server: field.optionalText,
  /** `local`: this gateway counts alone. */
  state: field.word<'shared' | 'local'>(),
  since: field.time,
  /** Null: counts are shared, or no Redis is configured. */
  reason: field.optionalText,
  where: field.optionalText,
  evictions: field.count,
})

export type RateLimitReport = field.Reported<typeof rate>

const concurrency = field.record({
  /** The config key: `upstreams.risk.concurrency`. */
  key: field.text,
  inFlight: field.total,
  /** Each worker has a share. */
  limit: field.total,
})

const eventLoop = field.record({
  delayMs: field.highestTenths,
  limitMs: field.number,
  sheds: field.flag,
  since: field.time,
  where: field.optionalText,
})

export const limitsField = field.record({
  /** Null: no rate limit, and no proofs in Redis. */
  rate: field.nullable(field.worst(rate, ({ state }) => state === 'local')),
  /** In the order in which an exchange meets them. */
  concurrency: field.listOf('key', concurrency),
  eventLoop: field.nullable(field.worst(eventLoop, ({ sheds }) => sheds)),
})

const collectLimits = (snapshot: Snapshot): field.Reported<typeof limitsField> => {
  const { counts, loop } = snapshot.parts.limits
  const { delayMs, sheds, since } = loop
  const { limits, upstreams, operations } = snapshot.config
  const limitMs = limits.eventLoopDelay
  const rows = [
    ['limits.concurrency', limits.concurrency, counts.all] as const,
    ...groups.map(
      (group) => [`upstreams.${group}.concurrency`, upstreams[group].concurrency, counts.upstreams[group]] as const,
    ),
    ...allOperations.map(
      ({ id }) => [`operations.${id}.concurrency`, operations[id].concurrency, counts.operations[id]] as const,
    ),
  ]
  return {
    rate: collectRate(snapshot),
    concurrency: rows.flatMap(([key, limit, { inFlight }]) => (limit === null ? [] : [{ key, inFlight, limit }])),
    eventLoop: limitMs === null ? null : { delayMs, limitMs, sheds, since, where: null },
  }
}

const collectRate = ({ config: { limits }, parts }: Snapshot): RateLimitReport | null => {
  const state = parts.limits.state() ?? parts.auth?.provider?.sharedProofs ?? null
  if (state === null) return null
  const { isShared, since, reason } = state
  return {
    store: limits.redis === null ? 'memory' : 'redis',
    server: limits.redis && describeRedis(limits.redis),
    state: isShared ? 'shared' : 'local',
    since,
    reason,
    where: null,
    evictions: parts.limits.limiters.counts.evictions,
  }
}

declare module '../../core/runtime/status/status-part.ts' {
  interface StatusReport {
    readonly limits: field.Reported<typeof limitsField>
  }
}

export const reported: readonly ReportSection[] = [{ key: 'limits', field: limitsField, collect: collectLimits }]
