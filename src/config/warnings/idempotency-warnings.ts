import { allOperations } from '../../operations.ts'
import type { WarningRule } from '../rules/rule.ts'

const unusedIdempotencyRedis: WarningRule = ({ config: { idempotency, operations } }) =>
  idempotency.redis !== null &&
  allOperations.every(({ id }) => operations[id].idempotency === null) && {
    path: ['idempotency', 'redis'],
    message: 'this does nothing: no operation has idempotency',
    expected: 'idempotency: true under one of operations, or no idempotency.redis',
    found: 'none that has it',
    hint: 'add financing.pre-approval: { idempotency: true } under operations, or remove redis',
  }

/** The warnings of idempotency: settings without an effect. */
export const idempotencyWarnings: readonly WarningRule[] = [unusedIdempotencyRedis]
