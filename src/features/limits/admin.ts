import type { PlacedFindings, PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import { addUp, counter, gauge, type MetricDefinitions, seriesFor } from '../../core/admin/metrics/metric.ts'
import type { MetricInputs } from '../../core/admin/metrics/metric-inputs.ts'
import type { FailureKind } from '../../core/exchange/failures/kinds.ts'
import { reasonsFor } from '../../core/exchange/failures/reasons.ts'
import { fromReport, type Shown } from '../../core/runtime/status/field.ts'
import { limitFindings } from './findings.ts'
import { limitsField } from './status.ts'

const rejectedKinds: readonly FailureKind[] = [
  'bad-request',
  'header-too-large',
  'request-timeout',
  'client-gone',
  'content-too-large',
  'invalid-request',
  'refused-by-operator',
]

const countsOfKinds = (...kinds: readonly FailureKind[]) =>
  seriesFor(['reason'], ({ requestMetrics }: MetricInputs) => {
    const all = Object.values(requestMetrics.operations).flatMap(({ reasons }) => reasons)
    return addUp([
      ...reasonsFor(...kinds).map((reason) => [reason, 0] as const),
      ...all.filter(({ failure }) => kinds.includes(failure)).map(({ reason, count }) => [reason, count] as const),
    ])
  })

const concurrency = seriesFor(['limit'], ({ report }) => report.limits.concurrency.map((each) => [each.key, each]))

const limitMetrics: MetricDefinitions = {
  concurrency_in_flight: concurrency.gauge('Requests that a bound of concurrency counts just now.', 'inFlight'),
  concurrency_limit: concurrency.gauge('How many requests a bound of concurrency lets in at once.', 'limit'),
  sheds_total: countsOfKinds('overloaded').counter('Requests that found no room (503), by the bound that was full.'),
  rate_limited_total: countsOfKinds('rate-limited').counter(
    'Requests of an address or a client beyond what it may (429), by the bound that was used up.',
  ),
  rejections_total: countsOfKinds(...rejectedKinds).counter(
    'Requests that were malformed, too large or too slow, or that an operator had refused, by what was wrong.',
  ),
  rate_limits_shared: gauge(
    'Whether rates and DPoP proofs are counted for all gateways (1), or each counts for itself until Redis is back (0); with limits.redis only.',
    ({ report: { limits } }) => (limits.rate?.store === 'redis' ? limits.rate.state === 'shared' : null),
  ),
  rate_keys_forgotten_total: counter(
    'Keys whose count was forgotten before its time, for want of room.',
    ({ report }) => report.limits.rate?.evictions,
  ),
  load_shedding: gauge(
    'Whether new requests are refused because the event loop is late (1), in one worker at least.',
    ({ report }) => report.limits.eventLoop?.sheds,
  ),
  load_shedding_limit_seconds: gauge(
    'From what delay of the event loop on new requests are refused.',
    ({ report: { limits } }) => limits.eventLoop && limits.eventLoop.limitMs / 1000,
  ),
}

export const findings: readonly PlacedFindings[] = [{ after: 'operations', value: limitFindings }]

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: limitMetrics }]

declare module '../../core/admin/api/status.ts' {
  interface Status {
    readonly limits: Shown<typeof limitsField>
  }
}

export const status: readonly PlacedStatus[] = [
  { after: 'upstreams', key: 'limits', field: fromReport('limits', limitsField) },
]
