import { allOperations, type Group, groups, type Side } from '../../../../operations.ts'
import { type FailureReason, reasonsFor } from '../../../exchange/failures/errors.ts'
import { allFailureKinds, failureTable } from '../../../exchange/failures/failure-table.ts'
import { reportedSides } from '../../../exchange/sides.ts'
import type { AttemptFailureReason } from '../../../log/metrics/request-metrics.ts'
import type { EndpointReport } from '../../../runtime/status/endpoint.ts'
import type { SideReport } from '../../../runtime/status/side.ts'
import { firstToExpire } from '../../../upstream/endpoints/endpoint-certificates.ts'
import { addUp, type MetricDefinitions, type MetricInputs, seriesFor, stateSeries } from '../metric.ts'

/** Reasons of requests that were not sent, or whose response could not be relayed. */
const reasonsWithoutAttempt: ReadonlySet<FailureReason> = new Set<FailureReason>([
  ...reasonsFor('no-healthy-endpoint', 'circuit-open', 'invalid-response'),
  'response-field',
])

// The last three are no reasons of the table: two kinds, and a failing status.
const expected: readonly AttemptFailureReason[] = [
  ...reasonsFor(...allFailureKinds.filter((kind) => failureTable[kind].fault === 'upstream')),
  'headers-timeout',
  'deadline-exceeded',
  'status',
]

const listUpstreams = ({ upstreams }: MetricInputs['report']): readonly (readonly [Group, Side, SideReport])[] =>
  groups.flatMap((group) =>
    reportedSides<SideReport>(upstreams[group]).map(({ side, report }) => [group, side, report] as const),
  )

/** An endpoint that the configuration names twice is counted once. */
const uniqueEndpoints = ({ endpoints }: SideReport): readonly EndpointReport[] =>
  [...new Map(endpoints.toReversed().map((endpoint) => [endpoint.url, endpoint])).values()].toReversed()

const listEndpoints = ({ report }: MetricInputs) =>
  listUpstreams(report).flatMap(([group, side, upstream]) =>
    uniqueEndpoints(upstream).map((endpoint) => [group, side, endpoint.url, endpoint] as const),
  )

const endpoint = seriesFor(['group', 'side', 'endpoint'], listEndpoints)

const endpointState = seriesFor(['group', 'side', 'endpoint', 'state'], (inputs) =>
  listEndpoints(inputs).flatMap(([group, side, url, { state }]) =>
    stateSeries(['up', 'failing', 'down', 'ejected', 'draining'], state.name).map(
      ([name, is]) => [group, side, url, name, is] as const,
    ),
  ),
)

const breakerState = seriesFor(['group', 'side', 'state'], ({ report }) =>
  listUpstreams(report).flatMap(([group, side, { breaker }]) => {
    if (breaker === null) return []
    return stateSeries(['closed', 'half-open', 'open'], breaker.state).map(
      ([name, is]) => [group, side, name, is] as const,
    )
  }),
)

const failed = seriesFor(['group', 'side', 'reason'], ({ report, requestMetrics }) =>
  listUpstreams(report).flatMap(([group, side]) => {
    const operations = allOperations
      .filter((each) => each.group === group)
      .map(({ id }) => requestMetrics.operations[id])
    const attempts = operations.flatMap(({ attemptFailures }) => attemptFailures.filter((each) => each.side === side))
    const unsent = operations.flatMap(({ reasons }) =>
      reasons.filter((each) => each.side === side && reasonsWithoutAttempt.has(each.reason)),
    )
    return addUp<readonly [Group, Side, string, number]>([
      ...expected.map((reason) => [group, side, reason, 0] as const),
      ...[...attempts, ...unsent].map(({ reason, count }) => [group, side, reason, count] as const),
    ])
  }),
)

export const endpointMetrics: MetricDefinitions = {
  endpoint_state: endpointState.gauge("The endpoint's state: 1 for the current one, 0 for the others."),
  endpoint_weight: endpoint.gauge("The endpoint's weight in the file, relative to the others.", 'weight'),
  endpoint_requests_total: endpoint.counter('Ended requests to the endpoint, retries included.', 'requests'),
  endpoint_failures_total: endpoint.counter("Requests that failed by the endpoint's fault.", 'failures'),
  endpoint_ejections_total: endpoint.counter('Ejections of the endpoint.', 'ejections'),
  endpoint_requests_in_flight: endpoint.gauge('Requests on their way to the endpoint.', 'inFlight'),
  endpoint_latency_seconds: endpoint.gauge(
    'Expected time to the head of a response; absent before the first response.',
    ({ latencyMs }) => (latencyMs === null ? null : latencyMs / 1000),
  ),
  endpoint_certificate_not_after_timestamp_seconds: endpoint.gauge(
    "When the endpoint's certificate expires, the first of several addresses; absent until seen.",
    ({ certificates }) => {
      const certificate = firstToExpire(certificates)
      return certificate && certificate.notAfter / 1000
    },
  ),
  upstream_breaker_state: breakerState.gauge(
    "The circuit breaker's state, the worst of all workers: 1 for the current one, 0 for the others.",
  ),
}

export const upstreamMetrics: MetricDefinitions = {
  upstream_failures_total: failed.counter(
    'Failed attempts, retries included, and requests that could not be sent, by reason.',
  ),
}
