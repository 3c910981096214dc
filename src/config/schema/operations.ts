import * as z from 'zod'
import type { OperationId } from '../../catalog.ts'
import { operationAuth } from './auth.ts'
import { operationCache } from './cache.ts'
import { concurrency } from './limits.ts'
import { deadline, maxBody } from './upstreams.ts'
import { boolean, choice, refused } from './values.ts'

const common = {
  state: choice('serve, or refuse every request with 503', ['serve', 'refuse']).prefault('serve'),
  deadline: deadline.optional(),
  maxBody: maxBody.optional(),
  concurrency: concurrency.prefault('none'),
  auth: operationAuth.optional(),
  idempotent: boolean('May be retried when the request carries an Idempotency-Key').prefault(false),
}

const get = z.strictObject({ ...common, cache: operationCache.prefault(false) }).meta({ id: 'GetOperation' })

const post = z
  .strictObject({
    ...common,
    cache: refused('only GET operations can be cached', 'remove this line').optional(),
  })
  .meta({ id: 'PostOperation' })

/** Describes what is said of single operations. The method decides whether `cache` may be among it. */
export const operationsSchema = z
  .strictObject({
    'valuation.score': post.optional(),
    'financing.pre-approval': post.optional(),
    'analysis.esg-grant': get.optional(),
    'risk.asset-valuation': post.optional(),
    'valuation.forecast': post.optional(),
    'inventory.sync': post.optional(),
    'leads.pipeline': get.optional(),
    'compliance.audit-trail': get.optional(),
    'market.insights': get.optional(),
  } satisfies Record<OperationId, unknown>)
  .meta({ description: 'What differs for single operations' })
