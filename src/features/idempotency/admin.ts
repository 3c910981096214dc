import type {
  DescribedField,
  DescribeOperation,
  PlacedFindings,
  PlacedMetrics,
  PlacedStatus,
} from '../../core/admin/admin-part.ts'
import { pluralize } from '../../core/admin/commands/phrases.ts'
import { countPhrase, rejectedPhrase, tallyRejected } from '../../core/admin/findings/failure-phrases.ts'
import { checkCommandLine, explainCommandLine, finding, wherePhrase } from '../../core/admin/findings/finding.ts'
import type { FindingInputs, FindingSource } from '../../core/admin/findings/finding-inputs.ts'
import { addUp, type MetricDefinitions, metricsOf, seriesFor } from '../../core/admin/metrics/metric.ts'
import { askFacts } from '../../core/config/config-facts.ts'
import type { FailureKind } from '../../core/exchange/failures/failure-table.ts'
import { formatTimeOfDay } from '../../core/lib/text/format-time.ts'
import { fromReport, type Shown } from '../../core/runtime/status/field.ts'
import { allOperations, type OperationId } from '../../operations.ts'
import { idempotencyField } from './status.ts'
import { zeroIdempotencyOutcomes } from './store/idempotency-store.ts'

const manyUnknown = 10

// Repetitions are rejected until an operator has looked.
const oldUnknownMs = 15 * 60_000

const idempotencyFindings: FindingSource = (inputs) => [storeFindings, unknownFindings].flatMap((find) => find(inputs))

const storeFindings: FindingSource = ({ config, file, report }) => {
  const protectedIds = allOperations.map(({ id }) => id).filter((id) => policyOf(config, id) !== null)
  const [first] = protectedIds
  if (report.idempotency === null || first === undefined) return []
  const { store, state, since, reason, where, entries, maxEntries } = report.idempotency
  const rejected = tallyRejected(report, 'idempotency-unavailable')
  const command = explainCommandLine(first, config)
  const rejects = protectedIds.some((id) => policyOf(config, id)?.onStoreFailure === 'reject')
  const severity = rejects ? 'critical' : 'warning'
  const then = rejects
    ? `requests with a new key are rejected (onStoreFailure: reject)${rejectedPhrase(rejected)}`
    : 'requests with a new key are forwarded unprotected (onStoreFailure: pass)'
  if (state === 'unavailable') {
    // `check --online` tests the Redis of the file, so the file must be in effect.
    const tries = store === 'redis' && file.differing.length === 0
    const facts = { where, reason, rejects, rejected, since }
    const shows = tries ? checkCommandLine(file.name, '--online') : command
    return finding('keys-unavailable', severity, 'idempotency', { ...facts, command: shows }, ({ reason, where }) => [
      `idempotency keys cannot be looked up${wherePhrase({ where })}${reason === null ? '' : ` (${reason})`}: ${then}`,
    ])
  }
  if (entries !== null && maxEntries !== null && entries >= maxEntries)
    return finding('keys-full', severity, 'idempotency', { entries, rejects, rejected, command }, ({ entries }) => [
      `the memory of idempotency keys is full (${entries}, idempotency.maxEntries): ${then}`,
    ])
  if (rejected.last15Min === 0) return []
  const facts = { rejected, since: rejected.firstAt, command }
  const level = rejected.lastMinute === 0 ? 'notice' : 'warning'
  return finding('keys-were-unavailable', level, 'idempotency', facts, ({ rejected }) => [
    `idempotency keys could not be stored for a while: ${countPhrase(rejected, 'rejected')}`,
  ])
}

/**
 * With `onUnknown: reject`, an operator must resolve the outcome. The store also counts keys of forwarding operations.
 */
const unknownFindings: FindingSource = ({ at, config, report }) => {
  const { unknown, oldestUnknown: since } = report.idempotency ?? { unknown: null, oldestUnknown: null }
  if (unknown === null || since === null) return []
  const rejecting = allOperations.map(({ id }) => id).filter((id) => policyOf(config, id)?.onUnknown === 'reject')
  const count = (id: OperationId): number =>
    report.requestMetrics?.operations[id].outcomes.find(({ outcome }) => outcome === 'unknown')?.count ?? 0
  const [worst] = rejecting.toSorted((a, b) => count(b) - count(a))
  if (worst === undefined) return []
  const isMany = unknown >= manyUnknown
  if (!isMany && at - since < oldUnknownMs) return []
  const facts = { unknown, since, command: explainCommandLine(worst, config) }
  return finding('outcomes-unknown', isMany ? 'warning' : 'notice', 'idempotency', facts, ({ unknown, since }, at) => [
    `the outcome of ${pluralize(unknown, 'request')} with a key is unknown, the oldest since ${formatTimeOfDay(since, at)}: repetitions get 409 (onUnknown: reject) until an operator asks the upstream and forgets the key`,
  ])
}

const policyOf = ({ operations }: FindingInputs['config'], id: OperationId) => operations[id].idempotency

export const findings: readonly PlacedFindings[] = [{ before: 'certificates', value: idempotencyFindings }]

const outcomes = seriesFor(['operation', 'outcome'], ({ config, requestMetrics }) =>
  allOperations.flatMap(({ id }) =>
    config.operations[id].idempotency === null
      ? []
      : addUp([
          ...Object.keys(zeroIdempotencyOutcomes).map((outcome) => [id, outcome, 0] as const),
          ...requestMetrics.operations[id].outcomes.map(({ outcome, count }) => [id, outcome, count] as const),
        ]),
  ),
)

const store = metricsOf(({ report }) => report.idempotency)

/** No series without an operation with idempotency. */
const idempotencyMetrics: MetricDefinitions = {
  idempotency_requests_total: outcomes.counter('Requests with an idempotency key by outcome.'),
  idempotency_store_up: store.gauge(
    'Whether the store of keys responds (1), or nothing new is remembered (0).',
    ({ state }) => state !== 'unavailable',
  ),
  idempotency_entries: store.gauge('Remembered keys.', 'entries'),
  idempotency_limit_entries: store.gauge('Limit of idempotency_entries.', 'maxEntries'),
  idempotency_bytes: store.gauge('Bytes of responses kept for repetitions.', 'bytes'),
  idempotency_limit_bytes: store.gauge('Limit of idempotency_bytes.', 'maxBytes'),
  idempotency_in_progress: store.gauge('Requests with a key under way.', 'inProgress'),
  idempotency_unknown: store.gauge('Keys with an unknown outcome.', 'unknown'),
  idempotency_oldest_unknown_seconds: store.gauge(
    'Age of the oldest unknown outcome; 0: none.',
    ({ unknown, oldestUnknown }, { at }) => {
      if (unknown === null) return null
      return oldestUnknown === null ? 0 : Math.max(0, at - oldestUnknown) / 1000
    },
  ),
  idempotency_dropped_total: store.counter(
    'Kept responses removed for lack of room; their keys stay remembered.',
    'dropped',
  ),
  idempotency_rejected_total: store.counter('Keys rejected for lack of room.', 'rejected'),
}

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: idempotencyMetrics }]

declare module '../../core/runtime/status/status-part.ts' {
  interface Status {
    readonly idempotency: Shown<typeof idempotencyField>
  }
}

export const status: readonly PlacedStatus[] = [
  { before: 'operations', key: 'idempotency', field: fromReport('idempotency', idempotencyField) },
]

export const loadPage = () => import('./page.ts')

const replayed: DescribedField = {
  layer: 'idempotency',
  field: 'Idempotency-Replayed',
  component: 'IdempotencyReplayed',
  header: {
    description: 'true: the stored response to an earlier request with the same key. This request was not forwarded.',
    schema: { type: 'string' },
  },
}

const failures: readonly FailureKind[] = [
  'idempotency-key-invalid',
  'request-in-progress',
  'outcome-unknown',
  'response-not-kept',
  'idempotency-key-reused',
  'rate-limited',
  'truncated', // responses are read whole, to be stored
]

const describe: DescribeOperation = ({ id }, { operations, listen }) => {
  const { idempotency } = operations[id]
  if (idempotency === null) return {}
  const { header: name, required, onStoreFailure } = idempotency
  const description = 'A new key for each action. Requests with the same key are processed once.'
  const parameter = { name, in: 'header', description, ...(required && { required }), schema: { type: 'string' } }
  return {
    failures: [
      ...failures,
      // Over HTTP/2 each request needs a key.
      ...(required || askFacts((facts) => facts.mayLackFields?.(listen)).includes(true)
        ? (['idempotency-key-missing'] as const)
        : []),
      ...(onStoreFailure === 'reject' ? (['idempotency-unavailable'] as const) : []),
    ],
    relayedFields: [replayed],
    parameters: [{ component: 'IdempotencyKey', value: parameter }],
  }
}

export const loadOpenApi = async () => ({ describe })

export const loadStatusTexts = () => import('./status-text.ts')
