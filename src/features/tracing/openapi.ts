import type { DescribedField, DescribeOperation } from '../../core/admin/admin-part.ts'

const serverTiming: DescribedField = {
  layer: 'server-timing',
  field: 'Server-Timing',
  component: 'ServerTiming',
  header: {
    description: 'How long the head of the response took: in the gateway, and at the upstream.',
    schema: { type: 'string' },
  },
}

export const describe: DescribeOperation = (_, { tracing }) => (tracing?.serverTiming ? { fields: [serverTiming] } : {})
