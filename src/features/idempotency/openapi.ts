import type { DescribedField, DescribeOperation } from '../../core/admin/admin-part.ts'
import { askFacts } from '../../core/config/config-facts.ts'
import type { FailureKind } from '../../core/exchange/failures/failure-table.ts'

const replayed: DescribedField = {
  layer: 'idempotency',
  field: 'Idempotency-Replayed',
  component: 'IdempotencyReplayed',
  header: {
    description: 'true: the response to an earlier request with the same key, which was not sent again.',
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

export const describe: DescribeOperation = ({ id }, { operations, listen }) => {
  const { idempotency } = operations[id]
  if (idempotency === null) return {}
  const { header: name, required, onStoreFailure } = idempotency
  const description = 'A key of its own for each thing to be done. A repetition with the same key is done once.'
  const parameter = { name, in: 'header', description, ...(required && { required }), schema: { type: 'string' } }
  return {
    failures: [
      ...failures,
      // Over HTTP/2 each request needs a key.
      ...(required || askFacts((facts) => facts.mayLackFields?.(listen)).includes(true)
        ? (['idempotency-key-missing'] as const)
        : []),
      ...(onStoreFailure === 'refuse' ? (['idempotency-unavailable'] as const) : []),
    ],
    relayedFields: [replayed],
    parameters: [{ component: 'IdempotencyKey', value: parameter }],
  }
}
