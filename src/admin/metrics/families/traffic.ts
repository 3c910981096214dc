import { allFailureKinds, type FailureKind, failureTable } from '../../../failures/kinds.ts'
import { exportedBounds, type HistogramReport } from '../../../observe/metrics/histogram.ts'
import {
  type OperationLabel,
  type OperationMetricsReport,
  toStatusClass,
} from '../../../observe/metrics/request-metrics.ts'
import { allOperations, type OperationId } from '../../../operations.ts'
import { type HistogramValue, type MetricDefinitions, seriesFor } from '../metric.ts'
import type { MetricInputs } from '../metric-inputs.ts'

/** The labels of requests, in the catalog's order; `none`: the request was for no operation. */
const operationLabels: readonly OperationLabel[] = [...allOperations.map(({ id }) => id), 'none']

const perOperation = seriesFor(['operation'], ({ requestMetrics }) =>
  allOperations.map(({ id }) => [id, requestMetrics.operations[id]]),
)

const perLabel = seriesFor(['operation'], ({ requestMetrics }) =>
  operationLabels.map((name) => [name, requestMetrics.operations[name]]),
)

/** Two labels and a count. */
type LabelledCount = readonly [string, string, number]

// A rate shows a first event only if the series was there, at 0, before it.
const expected: readonly (readonly [statusClass: number, failure: FailureKind | null])[] = [
  ...[2, 3, 4, 5].map((statusClass) => [statusClass, null] as const),
  ...allFailureKinds.map((kind) => [toStatusClass(failureTable[kind].status), kind] as const),
  [2, 'truncated'], // the status that was relayed
]

const requests = (operation: OperationMetricsReport): readonly LabelledCount[] => {
  const counts = new Map<string, LabelledCount>()
  const count = (statusClass: number, failure: FailureKind | null, value: number) =>
    counts.set(`${statusClass} ${failure}`, [className(statusClass), failure ?? 'none', value])
  for (const [statusClass, failure] of expected) count(statusClass, failure, 0)
  for (const { statusClass, failure, count: value } of operation.requests) count(statusClass, failure, value)
  return [...counts.values()]
}

const clients = ({ config, requestMetrics }: MetricInputs): readonly LabelledCount[] => {
  if (config.metrics?.clients !== true) return []
  const counts = new Map<string, LabelledCount>()
  const count = (client: string, statusClass: number, value: number) =>
    counts.set(`${statusClass} ${client}`, [client, className(statusClass), value])
  const known = new Set(config.clients.map(({ id }) => id))
  for (const id of known) for (const statusClass of [2, 4, 5]) count(id, statusClass, 0)
  for (const { client, statusClass, count: value } of requestMetrics.clients)
    if (known.has(client)) count(client, statusClass, value)
  return [...counts.values()]
}

const servingStates = ({ overrides, config }: MetricInputs): readonly (readonly [OperationId, boolean])[] =>
  allOperations.map(({ id }) => [id, (overrides.operations.get(id)?.state ?? config.operations[id].state) === 'serve'])

const className = (statusClass: number): string => `${statusClass}xx`

/**
 * Converts a histogram in milliseconds to Prometheus' form, in seconds. Exact: every exported bound is a recorded one.
 */
const toHistogramValue = ({ counts, sumMs }: HistogramReport): HistogramValue => {
  let below = 0
  const cumulative = counts.map((count) => {
    below += count
    return below
  })
  return {
    buckets: exportedBounds.map(({ at, le }) => ({ le, count: cumulative[at] ?? 0 })),
    sum: sumMs / 1000,
    count: below,
  }
}

const endedRequests = seriesFor(['operation', 'status_class', 'failure'], ({ requestMetrics }) =>
  operationLabels.flatMap((name) =>
    requests(requestMetrics.operations[name]).map(
      ([status, failure, count]) => [name, status, failure, count] as const,
    ),
  ),
)

/** Requests, responses and their bodies. */
export const trafficMetrics: MetricDefinitions = {
  requests_total: endedRequests.counter(
    'Requests that have ended, by operation, by the class of their status, and by what went wrong (none: nothing of the gateway).',
  ),
  requests_in_flight: perOperation.gauge('Requests that are being served.', 'inFlight'),
  request_duration_seconds: perLabel.histogram('From the arrival of a request to the end of its answer.', ({ total }) =>
    toHistogramValue(total),
  ),
  time_to_first_byte_seconds: perLabel.histogram(
    'From the arrival of a request to the head of its answer.',
    ({ firstByte }) => toHistogramValue(firstByte),
  ),
  upstream_duration_seconds: perOperation.histogram(
    'From the start of the last attempt at an endpoint to the end of its answer.',
    ({ upstream }) => toHistogramValue(upstream),
  ),
  request_body_bytes_total: perLabel.counter('Bytes of request bodies that came.', 'bytesIn'),
  response_body_bytes_total: perLabel.counter('Bytes of answer bodies that were sent.', 'bytesOut'),
  retries_total: perOperation.counter('Attempts at endpoints after the first one of a request.', 'retries'),
  client_requests_total: seriesFor(['client', 'status_class'], clients).counter(
    'Requests of each client of the file, by the class of their status; with metrics.clients only.',
  ),
  operation_serving: seriesFor(['operation'], servingStates).gauge(
    'Whether an operation is in service (1), or refused by the file or an operator (0).',
  ),
}
