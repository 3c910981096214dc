import * as z from 'zod'
import type { OperationId } from '../../../operations.ts'
import { choice } from '../schema/scalar-types.ts'
import { deadlineSchema, maxBodySchema } from './upstream-defaults.ts'

/** The keys of an operation that core reads. Those of features follow them. */
export const coreOperationShape = {
  state: choice('serve, or refuse every request with 503', ['serve', 'refuse']).prefault('serve'),
  deadline: deadlineSchema.optional(),
  maxBody: maxBodySchema.optional(),
}

type OperationShape = Readonly<Record<string, z.core.$ZodType>>

/** The schema of `operations`. The method decides which keys of features are allowed. */
export const operationsSchema = (getShape: OperationShape, postShape: OperationShape) => {
  const shapeOf = (shape: OperationShape) => z.strictObject({ ...coreOperationShape, ...shape })
  const getOperation = shapeOf(getShape).meta({ id: 'GetOperation' })
  const postOperation = shapeOf(postShape).meta({ id: 'PostOperation' })
  return z
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
}
