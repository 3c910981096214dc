import { allOperations } from '../../../operations.ts'
import { asCounted, counter, gauge, type MetricDefinitions, seriesFor } from '../metric.ts'
import type { MetricInputs } from '../metric-inputs.ts'

const outcomes = seriesFor(['operation', 'outcome'], ({ config, requestMetrics }) =>
  allOperations.flatMap(({ id }) =>
    config.operations[id].idempotency === null
      ? []
      : Object.entries(requestMetrics.operations[id].idempotency).map(
          ([outcome, count]) => [id, outcome, count] as const,
        ),
  ),
)

const remembered = ({ report }: MetricInputs): MetricInputs['report']['idempotency'] => report.idempotency

/** Keys of idempotency: what became of requests, and what is remembered. No series while no operation has it. */
export const idempotencyMetrics: MetricDefinitions = {
  idempotency_requests_total: outcomes.counter('Requests with a key of idempotency, by what became of it.', asCounted),
  idempotency_store_up: gauge(
    'Whether what is remembered of keys can be asked for (1), or not, so that nothing new is remembered (0).',
    (inputs) => {
      const store = remembered(inputs)
      return store && store.state !== 'unavailable'
    },
  ),
  idempotency_entries: gauge('How many keys are remembered.', (inputs) => remembered(inputs)?.entries),
  idempotency_limit_entries: gauge('How many keys may be remembered.', (inputs) => remembered(inputs)?.maxEntries),
  idempotency_bytes: gauge('Bytes of answers that are kept to be replayed.', (inputs) => remembered(inputs)?.bytes),
  idempotency_limit_bytes: gauge(
    'How much may be kept of answers to be replayed.',
    (inputs) => remembered(inputs)?.maxBytes,
  ),
  idempotency_in_progress: gauge(
    'How many requests with a key are under way.',
    (inputs) => remembered(inputs)?.inProgress,
  ),
  idempotency_unknown: gauge('How many keys have an unknown outcome.', (inputs) => remembered(inputs)?.unknown),
  idempotency_oldest_unknown_seconds: gauge('How old the oldest unknown outcome is; 0: there is none.', (inputs) => {
    const store = remembered(inputs)
    if (store === null || store.unknown === null) return null
    return store.oldestUnknown === null ? 0 : Math.max(0, inputs.at - store.oldestUnknown) / 1000
  }),
  idempotency_dropped_total: counter(
    'Kept answers that were given up for want of room; their requests are not forgotten.',
    (inputs) => remembered(inputs)?.dropped,
  ),
  idempotency_refused_total: counter(
    'Keys that were refused for want of room.',
    (inputs) => remembered(inputs)?.refused,
  ),
}
