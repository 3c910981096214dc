import { allOperations, type OperationId } from '../../../../operations.ts'
import { allFailureKinds, failureTable } from '../../../exchange/failures/failure-table.ts'
import { exportedBounds, type HistogramReport } from '../../../log/metrics/histogram.ts'
import {
  keyExchangeGroups,
  type OperationLabel,
  type OperationMetricsReport,
  tlsVersions,
  toStatusClass,
} from '../../../log/metrics/request-metrics.ts'
import { addUp, type HistogramValue, type MetricDefinitions, type MetricInputs, seriesFor } from '../metric.ts'

/** `none`: the request matched no operation. */
const operationLabels: readonly OperationLabel[] = [...allOperations.map(({ id }) => id), 'none']

const perOperation = seriesFor(['operation'], ({ requestMetrics }) =>
  allOperations.map(({ id }) => [id, requestMetrics.operations[id]]),
)

const perLabel = seriesFor(['operation'], ({ requestMetrics }) =>
  operationLabels.map((name) => [name, requestMetrics.operations[name]]),
)

const expected: OperationMetricsReport['requests'] = [
  ...[2, 3, 4, 5].map((statusClass) => ({ statusClass, failure: null, count: 0 })),
  ...allFailureKinds.map((kind) => ({
    statusClass: toStatusClass(failureTable[kind].status),
    failure: kind,
    count: 0,
  })),
  { statusClass: 2, failure: 'truncated', count: 0 }, // the status that was relayed
]

const servingStates = ({ overrides, config }: MetricInputs): readonly (readonly [OperationId, boolean])[] =>
  allOperations.map(({ id }) => [id, (overrides.operations.get(id)?.state ?? config.operations[id].state) === 'serve'])

export const className = (statusClass: number): string => `${statusClass}xx`

/** From milliseconds to seconds. Exact: every exported bound is a recorded bound. */
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
    addUp(
      [...expected, ...requestMetrics.operations[name].requests].map(
        ({ statusClass, failure, count }) => [name, className(statusClass), failure ?? 'none', count] as const,
      ),
    ),
  ),
)

const handshakes = seriesFor(['version', 'group'], ({ config, requestMetrics }) => {
  if (config.listen.tls === null) return []
  const possible = tlsVersions.flatMap((version) => keyExchangeGroups.map((group) => [version, group, 0] as const))
  return addUp([
    ...possible,
    ...requestMetrics.handshakes.map(({ version, group, count }) => [version, group, count] as const),
  ])
})

export const requestCounts: MetricDefinitions = {
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
}

export const trafficMetrics: MetricDefinitions = {
  operation_serving: seriesFor(['operation'], servingStates).gauge(
    'Whether an operation is in service (1), or rejected by the file or an operator (0).',
  ),
  tls_handshakes_total: handshakes.counter(
    'Handshakes of clients that were completed, resumed ones among them, by the version of TLS and the group in which keys were exchanged; with listen.tls only.',
  ),
}
