import { allOperations } from '../../src/operations.ts'

/**
 * Makes a contract of about 200 KB, as a generator of code would write it: hundreds of schemas with descriptions, that
 * refer to each other.
 */
export const largeContract = (): Readonly<Record<string, unknown>> => {
  const name = (index: number): string => `Record${index}`
  const ref = (index: number): object => ({ $ref: `#/components/schemas/${name(index % schemaCount)}` })
  const schemas = Array.from({ length: schemaCount }, (_, index) => [
    name(index),
    {
      type: 'object',
      description: `The record ${index}, as the system behind the gateway keeps it and hands it out.`,
      required: ['id', 'createdAt'],
      properties: {
        id: { type: 'string', format: 'uuid', description: 'The identifier, made by the system of record.' },
        createdAt: { type: 'string', format: 'date-time' },
        [`state${index}`]: { type: 'string', enum: ['open', 'checked', 'approved', 'declined'] },
        [`code${index}`]: { type: 'string', pattern: '^[A-Z]{2}-(?:[0-9]{4}|X)$', maxLength: 20 },
        amount: {
          type: ['number', 'null'],
          minimum: 0,
          description: 'In the currency of the record, with two decimals.',
        },
        next: ref(index * 7 + 1),
        history: { type: 'array', maxItems: 50, items: ref(index * 3 + 2) },
        party: { oneOf: [ref(index * 5 + 3), { type: 'string', maxLength: 200 }, { type: 'null' }] },
      },
    },
  ])
  const paths = allOperations.map(({ path, method }, index) => {
    const content = { 'application/json': { schema: ref(index * 11) } }
    return [
      path,
      {
        [method.toLowerCase()]: {
          parameters: [{ name: 'page', in: 'query', schema: { type: 'integer', minimum: 1 } }],
          ...(method === 'POST' ? { requestBody: { required: true, content } } : {}),
          responses: { 200: { description: 'the record', content }, default: { description: 'a problem' } },
        },
      },
    ]
  })
  return {
    openapi: '3.1.1',
    info: { title: 'Lender integration', version: '1.0.0' },
    paths: Object.fromEntries(paths),
    components: { schemas: Object.fromEntries(schemas) },
  }
}

const schemaCount = 240
