import { addUp, gauge, type MetricDefinitions, metricsOf, seriesFor } from '../../core/admin/metrics/metric.ts'
import type { MetricInputs } from '../../core/admin/metrics/metric-inputs.ts'
import type { FailureKind } from '../../core/exchange/failures/kinds.ts'
import type { AuthMethod } from '../../core/exchange/failures/reason-rows.ts'
import { reasonsFor, reasonTable } from '../../core/exchange/failures/reasons.ts'
import type { OperationMetricsReport } from '../../core/log/metrics/request-metrics.ts'

type Result = 'accepted' | 'refused' | 'unavailable'

const results: ReadonlyMap<FailureKind, Result> = new Map([
  ['unauthenticated', 'refused'],
  ['forbidden', 'refused'],
  ['identity-unavailable', 'unavailable'],
])

type Authentications = readonly (readonly [method: string, result: Result, reason: string, count: number])[]

const authentications = ({ config, requestMetrics }: MetricInputs): Authentications => {
  if (config.auth === null) return []
  const operations = Object.values(config.operations)
  const methods = new Set([...config.auth.methods, ...operations.flatMap((each) => each.auth?.methods ?? [])])
  return addUp([
    ['none', 'refused', 'no-credential', 0],
    ...[...methods].flatMap(expectedOf),
    ...Object.values(requestMetrics.operations).flatMap(countedOf),
  ])
}

const expectedOf = (method: AuthMethod): Authentications => [
  [method, 'accepted', 'none', 0],
  ...[...results].flatMap(([kind, result]) =>
    reasonsFor(kind)
      .filter((reason) => reasonTable[reason].methods.includes(method))
      .map((reason) => [method, result, reason, 0] as const),
  ),
]

const countedOf = ({ accepted, reasons }: OperationMetricsReport): Authentications => [
  ...accepted.map(({ method, count }) => [method, 'accepted', 'none', count] as const),
  ...reasons.flatMap(({ failure, method, reason, count }) => {
    const result = results.get(failure)
    return result === undefined ? [] : [[method ?? 'none', result, reason, count] as const]
  }),
]

const sources = seriesFor(['source'], ({ report: { tokens } }) =>
  (['jwt', 'introspection'] as const).flatMap((name) => {
    const source = tokens[name]
    return source === null ? [] : [[name, source] as const]
  }),
)

const proofs = metricsOf(({ report }) => report.tokens.proofs)

/** No series while clients need no credential. */
export const authMetrics: MetricDefinitions = {
  authentications_total: seriesFor(['method', 'result', 'reason'], authentications).counter(
    'Credentials that were checked, by the way to prove who calls (none: nothing was shown), by what came of it and why.',
  ),
  token_source_up: sources.gauge(
    'Whether the keys of the issuer can be had (jwt), and the authorization server be asked (introspection).',
    ({ error }) => error === null,
  ),
  token_source_last_success_timestamp_seconds: sources.gauge(
    'When the issuer, or the authorization server, answered last as it should; 0: never.',
    ({ lastSuccess }) => (lastSuccess ?? 0) / 1000,
  ),
  token_keys: gauge('How many keys of the issuer are known.', ({ report }) => report.tokens.jwt?.keys),
  proofs_remembered: proofs.gauge('How many proofs of possession have come in this window.', 'remembered'),
  proofs_room: proofs.gauge('How many proofs of possession may come in a window.', 'room'),
}
