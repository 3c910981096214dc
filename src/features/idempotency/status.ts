import type { Snapshot } from '../../core/runtime/snapshot/snapshot.ts'
import type { Reported } from '../../core/runtime/status/field.ts'
import * as field from '../../core/runtime/status/field.ts'
import type { ReportSection } from '../../core/runtime/status/status-part.ts'

const remembered = field.record({
  store: field.word<'memory' | 'redis'>(),
  /**
   * `shared`: all gateways remember together. `local`: this gateway remembers for itself alone. `unavailable`: the
   * store cannot be asked, so nothing new is remembered.
   */
  state: field.word<'shared' | 'local' | 'unavailable'>(),
  since: field.time,
  /** Why the store cannot be asked; null: it can. */
  reason: field.optionalText,
  where: field.optionalText,
  /** How many keys. Null, as the members below: the store does not tell. */
  entries: field.optionalNumber,
  maxEntries: field.optionalNumber,
  /** Bytes of stored responses. */
  bytes: field.optionalNumber,
  maxBytes: field.optionalNumber,
  inProgress: field.optionalNumber,
  unknown: field.optionalNumber,
  /** Since when the oldest unknown outcome is so; null: there is none. */
  oldestUnknown: field.optionalTime,
  /** Responses that were given up for want of room. Their requests are not forgotten. */
  dropped: field.count,
  /** Keys that were refused for want of room. */
  refused: field.count,
})

/**
 * What is remembered of requests with a key of idempotency. Null: no operation has it, or another process remembers.
 * The primary keeps the memory for all workers; each worker uses Redis by itself.
 */
export const idempotencyField = field.nullable({
  ...field.worst(remembered, ({ state }) => state === 'unavailable'),
  // In the order in which the store has its members.
  show: (value, context) => ({ ...value, ...remembered.show(value, context) }),
  // An edit that puts the keys elsewhere does not add the counts of two stores.
  mapCounters: (value, name, change) => remembered.mapCounters?.(value, `${name}.${value.store}`, change) ?? value,
})

export type IdempotencyReport = Reported<typeof remembered>

const collectIdempotency = ({ parts: { idempotency } }: Snapshot): IdempotencyReport | null => {
  const state = idempotency.lease?.state() ?? null
  return state && { ...state, where: null }
}

declare module '../../core/runtime/status/report.ts' {
  interface StatusReport {
    readonly idempotency: IdempotencyReport | null
  }
}

export const reported: readonly ReportSection[] = [
  { key: 'idempotency', field: idempotencyField, collect: collectIdempotency },
]
