import * as z from 'zod'
import { operationAuthSchema } from '../../../features/auth/config.ts'
import { operationCacheSchema } from '../../../features/cache/config.ts'
import { operationContractSchema } from '../../../features/contract/config.ts'
import { operationIdempotencySchema } from '../../../features/idempotency/config.ts'
import { concurrencySchema } from '../../../features/limits/config.ts'
import type { OperationId } from '../../../operations.ts'
import { choice, forbiddenKey } from '../schema/scalar-types.ts'
import { deadlineSchema, maxBodySchema } from './upstream-defaults.ts'

const commonKeys = {
  state: choice('serve, or refuse every request with 503', ['serve', 'refuse']).prefault('serve'),
  deadline: deadlineSchema.optional(),
  maxBody: maxBodySchema.optional(),
  concurrency: concurrencySchema.prefault('none'),
  auth: operationAuthSchema.optional(),
  contract: operationContractSchema.optional(),
}

const getOperation = z
  .strictObject({
    ...commonKeys,
    cache: operationCacheSchema.prefault(false),
    idempotent: forbiddenKey('there is no such key any more', 'remove this line: a GET needs no key').optional(),
    idempotency: forbiddenKey('only POST operations have keys', 'remove this line').optional(),
  })
  .meta({ id: 'GetOperation' })

const postOperation = z
  .strictObject({
    ...commonKeys,
    cache: forbiddenKey('only GET operations can be cached', 'remove this line').optional(),
    idempotent: forbiddenKey(
      'it is part of idempotency now',
      'write idempotency: { onUnknown: forward } instead of idempotent: true',
    ).optional(),
    idempotency: operationIdempotencySchema.prefault(false),
  })
  .meta({ id: 'PostOperation' })

/** The method decides whether `cache` is allowed. */
export const operationsSchema = z
  .strictObject({
    'valuation.score': postOperation.optional(),
    'financing.pre-approval': postOperation.optional(),
    'analysis.esg-grant': getOperation.optional(),
    'risk.asset-valuation': postOperation.optional(),
    'valuation.forecast': postOperation.optional(),
    'inventory.sync': postOperation.optional(),
    'leads.pipeline': getOperation.optional(),
    'compliance.audit-trail': getOperation.optional(),
    'market.insights': getOperation.optional(),
  } satisfies Record<OperationId, unknown>)
  .meta({ description: 'What differs for single operations' })
