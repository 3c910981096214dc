import type { DescribeOperation } from '../../core/admin/admin-part.ts'
import { sides } from '../../operations.ts'

/** Responses omit the field while the group has no sides. */
export const describe: DescribeOperation = ({ group }, { upstreams }) => {
  const field = upstreams[group].candidate?.expose ?? null
  if (field === null) return {}
  const header = { description: 'Which upstream has served the request.', schema: { enum: sides } }
  return { fields: [{ layer: 'side', field, component: 'Side', header }] }
}
