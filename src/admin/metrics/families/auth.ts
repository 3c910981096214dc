import type { FailureKind } from '../../../failures/kinds.ts'
import type { AuthMethod } from '../../../failures/reason-rows.ts'
import { reasonsFor, reasonTable } from '../../../failures/reasons.ts'
import type { OperationMetricsReport } from '../../../observe/metrics/request-metrics.ts'
import { gauge, type MetricDefinitions, metricsOf, seriesFor } from '../metric.ts'
import type { MetricInputs } from '../metric-inputs.ts'

type Result = 'accepted' | 'refused' | 'unavailable'

const results: ReadonlyMap<FailureKind, Result> = new Map([
  ['unauthenticated', 'refused'],
  ['forbidden', 'refused'],
  ['identity-unavailable', 'unavailable'],
])

const authentications = ({
  config,
  requestMetrics,
}: MetricInputs): readonly (readonly [string, string, string, number])[] => {
  if (config.auth === null) return []
  const counts = new Map<string, readonly [string, string, string, number]>()
  const add = (method: AuthMethod | null, result: Result, reason: string | null, count: number): void => {
    const row = [method ?? 'none', result, reason ?? 'none'] as const
    const [, , , before] = counts.get(row.join(' ')) ?? [...row, 0]
    counts.set(row.join(' '), [...row, before + count])
  }
  const operations = Object.values(config.operations)
  const methods = new Set([...config.auth.methods, ...operations.flatMap((each) => each.auth?.methods ?? [])])
  add(null, 'refused', 'no-credential', 0)
  for (const method of methods) {
    add(method, 'accepted', null, 0)
    for (const [kind, result] of results)
      for (const reason of reasonsFor(kind))
        if (reasonTable[reason].methods.includes(method)) add(method, result, reason, 0)
  }
  for (const { accepted, reasons } of Object.values(requestMetrics.operations)) {
    for (const { method, count } of accepted) add(method, 'accepted', null, count)
    for (const each of reasons) addRejection(each, add)
  }
  return [...counts.values()]
}

const addRejection = (
  { failure, reason, method, count }: OperationMetricsReport['reasons'][number],
  add: (method: AuthMethod | null, result: Result, reason: string, count: number) => void,
): void => {
  const result = results.get(failure)
  if (result !== undefined) add(method, result, reason, count)
}

const sources = seriesFor(['source'], ({ report: { tokens } }) =>
  (['jwt', 'introspection'] as const).flatMap((name) => {
    const source = tokens[name]
    return source === null ? [] : [[name, source] as const]
  }),
)

const proofs = metricsOf(({ report }) => report.tokens.proofs)

/**
 * Authentication: accepted and rejected credentials, and the sources of keys. No series while clients need no
 * credential.
 */
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
