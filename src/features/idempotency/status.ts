import type { Snapshot } from '../../core/runtime/snapshot/snapshot.ts'
import * as field from '../../core/runtime/status/field.ts'
import type { ReportSection } from '../../core/runtime/status/status-part.ts'

const remembered = field.record({
  store: field.word<'memory' | 'redis'>(),
  /** `shared`: between gateways. `local`: this gateway alone. `unavailable`: no reply, so no key is stored. */
  state: field.word<'shared' | 'local' | 'unavailable'>(),
  since: field.time,
  reason: field.optionalText,
  where: field.optionalText,
  /** Null from here on: the store cannot tell. */
  entries: field.optionalNumber,
  maxEntries: field.optionalNumber,
  bytes: field.optionalNumber, // of stored responses
  maxBytes: field.optionalNumber,
  inProgress: field.optionalNumber,
  unknown: field.optionalNumber,
  oldestUnknown: field.optionalTime,
  dropped: field.count, // responses, to make room; their keys stay
  rejected: field.count, // keys, because there is no room
})

/** Null: no operation has idempotency, or the primary's memory serves this process. */
export const idempotencyField = field.nullable({
  ...field.worst(remembered, ({ state }) => state === 'unavailable'),
  // In the store's order of members.
  show: (value, context) => ({ ...value, ...remembered.show(value, context) }),
  // Keeps the counts of two stores apart after an edit.
  mapCounters: (value, name, change) => remembered.mapCounters?.(value, `${name}.${value.store}`, change) ?? value,
})

export type IdempotencyReport = field.Reported<typeof remembered>

const collectIdempotency = ({ parts: { idempotency } }: Snapshot): IdempotencyReport | null => {
  const state = idempotency?.lease?.state() ?? null
  return state && { ...state, where: null }
}

declare module '../../core/runtime/status/status-part.ts' {
  interface StatusReport {
    readonly idempotency: IdempotencyReport | null
  }
}

export const reported: readonly ReportSection[] = [
  { key: 'idempotency', field: idempotencyField, collect: collectIdempotency },
]
