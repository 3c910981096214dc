import type { DescribedField, DescribeOperation } from '../../core/admin/admin-part.ts'
import { failureTable } from '../../core/exchange/failures/failure-table.ts'

const cacheStatus: DescribedField = {
  layer: 'cache',
  field: 'Cache-Status',
  component: 'CacheStatus',
  header: { description: 'What the cache of the gateway did (RFC 9211).', schema: { type: 'string' } },
}

const age: DescribedField = {
  layer: 'cache',
  field: 'Age',
  component: 'Age',
  header: {
    description: 'The age of a stored response, in seconds (RFC 9111 §5.1).',
    schema: { type: 'integer', minimum: 0 },
  },
}

/** The cache's own responses (RFC 9110 §13.2.2, §14.2). */
const responses = {
  206: { description: 'The part of a response that the request asks for.', content: { '*/*': {} } },
  304: { description: 'The client has the response already.' },
  416: { description: 'The response has no such part.' },
}

export const describe: DescribeOperation = ({ id }, { operations }) =>
  operations[id].cache === null
    ? {}
    : {
        failures: ['not-cached'],
        relayedFields: [age, cacheStatus],
        problemFields: (kinds) =>
          kinds.some((kind) => kind === 'not-cached' || failureTable[kind].fault === 'upstream') ? [cacheStatus] : [],
        responses,
      }
