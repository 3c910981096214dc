import * as z from 'zod'
import { byOperation } from '../../../operations.ts'
import { choice, map } from '../schema/scalar-types.ts'
import { deadlineSchema, maxBodySchema } from './upstream-defaults.ts'

export const coreOperationShape = {
  state: choice('serve, or reject every request with 503', ['serve', 'reject']).prefault('serve'),
  deadline: deadlineSchema.optional(),
  maxBody: maxBodySchema.optional(),
}

type OperationShape = Readonly<Record<string, z.core.$ZodType>>

export const operationsSchema = (getShape: OperationShape, postShape: OperationShape) => {
  const shapeOf = (shape: OperationShape) => z.strictObject({ ...coreOperationShape, ...shape })
  const getOperation = shapeOf(getShape).meta({ id: 'GetOperation' })
  const postOperation = shapeOf(postShape).meta({ id: 'PostOperation' })
  const operations = byOperation(({ method }) => (method === 'GET' ? getOperation : postOperation).optional())
  return map('Settings of single operations, in place of those above', operations)
}
