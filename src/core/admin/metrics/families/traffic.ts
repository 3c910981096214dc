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
  { statusClass: 2, failure: 'truncated', count: 0 },
]

const servingStates = ({ overrides, config }: MetricInputs): readonly (readonly [OperationId, boolean])[] =>
  allOperations.map(({ id }) => [id, (overrides.operations.get(id)?.state ?? config.operations[id].state) === 'serve'])

export const className = (statusClass: number): string => `${statusClass}xx`

/** Exact: every exported bound is a recorded bound. */
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
    "Ended requests by the response's status class and the gateway's error (none: no error of the gateway).",
  ),
  requests_in_flight: perOperation.gauge('Requests being served.', 'inFlight'),
  request_duration_seconds: perLabel.histogram(
    "Time from a request's arrival to the last byte of its response.",
    ({ total }) => toHistogramValue(total),
  ),
  time_to_first_byte_seconds: perLabel.histogram(
    "Time from a request's arrival to the head of its response.",
    ({ firstByte }) => toHistogramValue(firstByte),
  ),
  upstream_duration_seconds: perOperation.histogram(
    'Time of the last attempt at an endpoint, to the last byte of its response.',
    ({ upstream }) => toHistogramValue(upstream),
  ),
  request_body_bytes_total: perLabel.counter('Bytes of request bodies received.', 'bytesIn'),
  response_body_bytes_total: perLabel.counter('Bytes of response bodies sent.', 'bytesOut'),
  retries_total: perOperation.counter("Attempts after a request's first one.", 'retries'),
}

export const trafficMetrics: MetricDefinitions = {
  operation_serving: seriesFor(['operation'], servingStates).gauge(
    '1 if the operation is in service, 0 if the file or a command has taken it out of service.',
  ),
  tls_handshakes_total: handshakes.counter(
    'Completed TLS handshakes of clients, resumed ones included; with listen.tls only.',
  ),
}
