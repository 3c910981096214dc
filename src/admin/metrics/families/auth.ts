import type { Kind } from '../../../failures/kinds.ts'
import type { AuthMethod } from '../../../failures/reasons.ts'
import { reasons, reasonsOf } from '../../../failures/reasons.ts'
import type { OperationReport } from '../../../observe/metrics/meter-report.ts'
import { counter, gauge, type Metric } from '../metric.ts'
import type { Reading } from '../reading.ts'

/** Says who was let in, and who was not. Nothing, while nobody is asked. */
export const auth: readonly Metric[] = [
  counter(
    'authentications_total',
    'Credentials that were checked, by the way to prove who calls (none: nothing was shown), by what came of it and why.',
    ['method', 'result', 'reason'],
    (reading) => (reading.config.auth === null ? [] : authentications(reading)),
  ),
  gauge(
    'token_source_up',
    'Whether the keys of the issuer can be had (jwt), and the authorization server be asked (introspection).',
    ['source'],
    (reading) => ofSources(reading, ({ error }) => (error === null ? 1 : 0)),
  ),
  gauge(
    'token_source_last_success_timestamp_seconds',
    'When the issuer, or the authorization server, answered last as it should; 0: never.',
    ['source'],
    (reading) => ofSources(reading, ({ lastSuccess }) => (lastSuccess ?? 0) / 1000),
  ),
  gauge('token_keys', 'How many keys of the issuer are known.', [], ({ report: { tokens } }) =>
    tokens.jwt === null ? [] : [[tokens.jwt.keys]],
  ),
  gauge('proofs_remembered', 'How many proofs of possession have come in this window.', [], ({ report }) =>
    report.tokens.proofs === null ? [] : [[report.tokens.proofs.remembered]],
  ),
  gauge('proofs_room', 'How many proofs of possession may come in a window.', [], ({ report }) =>
    report.tokens.proofs === null ? [] : [[report.tokens.proofs.room]],
  ),
]

type Result = 'accepted' | 'refused' | 'unavailable'

const results: ReadonlyMap<Kind, Result> = new Map([
  ['unauthenticated', 'refused'],
  ['forbidden', 'refused'],
  ['identity-unavailable', 'unavailable'],
])

const authentications = ({ config, meter }: Reading): readonly (readonly [string, string, string, number])[] => {
  const counts = new Map<string, readonly [string, string, string, number]>()
  const add = (method: AuthMethod | null, result: Result, reason: string | null, count: number): void => {
    const row = [method ?? 'none', result, reason ?? 'none'] as const
    const [, , , before] = counts.get(row.join(' ')) ?? [...row, 0]
    counts.set(row.join(' '), [...row, before + count])
  }
  const operations = Object.values(config.operations)
  const methods = new Set([...(config.auth?.methods ?? []), ...operations.flatMap((each) => each.auth?.methods ?? [])])
  add(null, 'refused', 'no-credential', 0)
  for (const method of methods) {
    add(method, 'accepted', null, 0)
    for (const [kind, result] of results)
      for (const reason of reasonsOf(kind)) if (reasons[reason].methods.includes(method)) add(method, result, reason, 0)
  }
  for (const { proved, reasons } of Object.values(meter.operations)) {
    for (const { method, count } of proved) add(method, 'accepted', null, count)
    for (const each of reasons) addRefusal(each, add)
  }
  return [...counts.values()]
}

const addRefusal = (
  { failure, reason, method, count }: OperationReport['reasons'][number],
  add: (method: AuthMethod | null, result: Result, reason: string, count: number) => void,
): void => {
  const result = results.get(failure)
  if (result !== undefined) add(method, result, reason, count)
}

type Source = NonNullable<Reading['report']['tokens']['introspection']>

const ofSources = ({ report: { tokens } }: Reading, read: (source: Source) => number) =>
  (['jwt', 'introspection'] as const).flatMap((name) => {
    const source = tokens[name]
    return source === null ? [] : [[name, read(source)] as const]
  })
