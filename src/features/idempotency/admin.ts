import type { PlacedFindings, PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import { type MetricDefinitions, metricsOf, seriesOfCounts } from '../../core/admin/metrics/metric.ts'
import { fromReport, type Shown } from '../../core/runtime/status/field.ts'
import { allOperations } from '../../operations.ts'
import { idempotencyFindings } from './findings.ts'
import { idempotencyField } from './status.ts'

export const findings: readonly PlacedFindings[] = [{ before: 'credentials', value: idempotencyFindings }]

const outcomes = seriesOfCounts('operation', ({ config, requestMetrics }) =>
  allOperations.flatMap(({ id }) =>
    config.operations[id].idempotency === null ? [] : [[id, requestMetrics.operations[id].idempotency] as const],
  ),
)('outcome', (counts) => counts)

const store = metricsOf(({ report }) => report.idempotency)

/** No series while no operation has it. */
const idempotencyMetrics: MetricDefinitions = {
  idempotency_requests_total: outcomes.counter('Requests with a key of idempotency, by what became of it.'),
  idempotency_store_up: store.gauge(
    'Whether what is remembered of keys can be asked for (1), or not, so that nothing new is remembered (0).',
    ({ state }) => state !== 'unavailable',
  ),
  idempotency_entries: store.gauge('How many keys are remembered.', 'entries'),
  idempotency_limit_entries: store.gauge('How many keys may be remembered.', 'maxEntries'),
  idempotency_bytes: store.gauge('Bytes of answers that are kept to be replayed.', 'bytes'),
  idempotency_limit_bytes: store.gauge('How much may be kept of answers to be replayed.', 'maxBytes'),
  idempotency_in_progress: store.gauge('How many requests with a key are under way.', 'inProgress'),
  idempotency_unknown: store.gauge('How many keys have an unknown outcome.', 'unknown'),
  idempotency_oldest_unknown_seconds: store.gauge(
    'How old the oldest unknown outcome is; 0: there is none.',
    ({ unknown, oldestUnknown }, { at }) => {
      if (unknown === null) return null
      return oldestUnknown === null ? 0 : Math.max(0, at - oldestUnknown) / 1000
    },
  ),
  idempotency_dropped_total: store.counter(
    'Kept answers that were given up for want of room; their requests are not forgotten.',
    'dropped',
  ),
  idempotency_refused_total: store.counter('Keys that were refused for want of room.', 'refused'),
}

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: idempotencyMetrics }]

declare module '../../core/admin/api/status.ts' {
  interface Status {
    readonly idempotency: Shown<typeof idempotencyField>
  }
}

export const status: readonly PlacedStatus[] = [
  { before: 'operations', key: 'idempotency', field: fromReport('idempotency', idempotencyField) },
]
