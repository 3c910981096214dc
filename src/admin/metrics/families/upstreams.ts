import { catalog, type Group, groups } from '../../../catalog.ts'
import { failures, kinds } from '../../../failures/kinds.ts'
import { type Reason, reasonsOf } from '../../../failures/reasons.ts'
import type { AttemptFailure } from '../../../observe/metrics/meter-report.ts'
import type { EndpointReport } from '../../../snapshot/report.ts'
import { firstToEnd } from '../../../upstream/certificates.ts'
import { counted, counter, gauge, type Metric, states } from '../metric.ts'
import type { Reading } from '../reading.ts'

/** Says how what stands behind the groups does. */
export const upstreams: readonly Metric[] = [
  gauge(
    'endpoint_state',
    'Which state an endpoint is in: 1 for that one, 0 for the others.',
    ['group', 'endpoint', 'state'],
    ({ report }) =>
      groups.flatMap((group) =>
        endpointsOf(report, group).flatMap(({ url, state }) =>
          states(['up', 'failing', 'down', 'ejected', 'draining'], state.name).map(
            ([name, is]) => [group, url, name, is] as const,
          ),
        ),
      ),
  ),
  gauge(
    'endpoint_weight',
    'The share of a group’s work that the file gives an endpoint, relative to the others.',
    ['group', 'endpoint'],
    (reading) => ofEndpoints(reading, ({ weight }) => weight),
  ),
  counter(
    'endpoint_requests_total',
    'Requests to an endpoint that have ended, retries among them.',
    ['group', 'endpoint'],
    (reading) => ofEndpoints(reading, ({ counts }) => counts.requests),
  ),
  counter(
    'endpoint_failures_total',
    'Requests to an endpoint that failed by its fault.',
    ['group', 'endpoint'],
    (reading) => ofEndpoints(reading, ({ counts }) => counts.failures),
  ),
  counter(
    'endpoint_ejections_total',
    'How often traffic has taken an endpoint out.',
    ['group', 'endpoint'],
    (reading) => ofEndpoints(reading, ({ counts }) => counts.ejections),
  ),
  gauge('endpoint_requests_in_flight', 'Requests on their way to an endpoint.', ['group', 'endpoint'], (reading) =>
    ofEndpoints(reading, ({ inFlight }) => inFlight),
  ),
  gauge(
    'endpoint_latency_seconds',
    'How long an endpoint is expected to take to answer; absent until it has.',
    ['group', 'endpoint'],
    ({ report }) =>
      groups.flatMap((group) =>
        endpointsOf(report, group).flatMap(({ url, latencyMs }) =>
          latencyMs === null ? [] : [[group, url, latencyMs / 1000] as const],
        ),
      ),
  ),
  gauge(
    'endpoint_certificate_not_after_timestamp_seconds',
    'When the certificate of an endpoint expires, the first to end of several addresses; absent until one was seen.',
    ['group', 'endpoint'],
    ({ report }) =>
      groups.flatMap((group) =>
        endpointsOf(report, group).flatMap(({ url, certificates }) => {
          const certificate = firstToEnd(certificates)
          return certificate === null ? [] : [[group, url, certificate.notAfter / 1000] as const]
        }),
      ),
  ),
  gauge(
    'upstream_breaker_state',
    'Which state a group’s circuit breaker is in: 1 for that one, 0 for the others; the worst of several workers.',
    ['group', 'state'],
    ({ report }) =>
      groups.flatMap((group) => {
        const { breaker } = report.upstreams[group]
        if (breaker === null) return []
        return states(['closed', 'half-open', 'open'], breaker.state).map(([name, is]) => [group, name, is] as const)
      }),
  ),
  gauge('retry_budget_left', 'Retries that a group’s budget allows just now.', ['group'], ({ report }) =>
    groups.flatMap((group) => {
      const { retryBudget } = report.upstreams[group]
      return retryBudget === null ? [] : [[group, retryBudget.left] as const]
    }),
  ),
  counter(
    'upstream_failures_total',
    'Attempts that an upstream failed, retries among them, and requests that it could not be asked for, by what was wrong.',
    ['group', 'reason'],
    ({ meter }) =>
      groups.flatMap((group) => {
        const operations = catalog.filter((each) => each.group === group).map(({ id }) => meter.operations[id])
        const attempts = operations.flatMap(({ attemptFailures }) => attemptFailures)
        const unasked = operations.flatMap(({ reasons }) => reasons.filter(({ reason }) => ofNoAttempt.has(reason)))
        return counted(expected, [...attempts, ...unasked]).map(([reason, count]) => [group, reason, count] as const)
      }),
  ),
]

/** What a request fails by without an attempt that failed: nothing was sent, or what came could not be passed on. */
const ofNoAttempt: ReadonlySet<Reason> = new Set<Reason>([
  ...reasonsOf('no-healthy-endpoint', 'circuit-open'),
  'answer-field',
])

// What an attempt fails by has a reason, but for these: two kinds, and a status that counts as a failure.
const expected: readonly AttemptFailure[] = [
  ...reasonsOf(...kinds.filter((kind) => failures[kind].fault === 'upstream')),
  'headers-timeout',
  'deadline-exceeded',
  'status',
]

/** Lists what stands behind a group. What the file names twice is one thing, and counted once. */
const endpointsOf = ({ upstreams }: Reading['report'], group: Group): readonly EndpointReport[] =>
  [
    ...new Map(upstreams[group].endpoints.toReversed().map((endpoint) => [endpoint.url, endpoint])).values(),
  ].toReversed()

const ofEndpoints = ({ report }: Reading, read: (endpoint: EndpointReport) => number) =>
  groups.flatMap((group) =>
    endpointsOf(report, group).map((endpoint) => [group, endpoint.url, read(endpoint)] as const),
  )
