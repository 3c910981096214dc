import type { DescribedField, DescribeOperation } from '../../core/admin/admin-part.ts'

const field = (name: string, component: string, description: string): DescribedField => ({
  layer: 'address-limit',
  field: name,
  component,
  header: { description: `${description} (draft-ietf-httpapi-ratelimit-headers).`, schema: { type: 'string' } },
})

const rateFields = [
  field('RateLimit-Policy', 'RateLimitPolicy', 'The limits that hold: quota and window'),
  field('RateLimit', 'RateLimit', 'What is left of them: requests, and the seconds until there is one more'),
]

export const describe: DescribeOperation = ({ id }, { limits, operations, clients }) => {
  const callers = operations[id].auth === null ? [] : clients.filter((each) => each.operations?.includes(id) ?? true)
  const hasRate = limits.address !== null || callers.some(({ rate }) => rate !== null)
  const isLimited = hasRate || callers.some(({ concurrency }) => concurrency !== null)
  return { failures: isLimited ? ['rate-limited'] : [], fields: hasRate ? rateFields : [] }
}
