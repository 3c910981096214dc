/** Holds the contract of the bench: an application with its assets, as an operator would write it. */

const object = (properties: object, ...required: readonly string[]) => ({ type: 'object', required, properties })

const schemas = {
  Location: object(
    {
      street: { type: 'string', maxLength: 100 },
      city: { type: 'string', maxLength: 100 },
      postcode: { type: 'string', maxLength: 10 },
      country: { type: 'string', pattern: '^[A-Z]{2}$' },
    },
    'city',
    'country',
  ),
  Asset: object(
    {
      id: { type: 'string', maxLength: 40 },
      kind: { enum: ['machine', 'vehicle', 'building'] },
      amount: { type: 'number', minimum: 0 },
      currency: { type: 'string', minLength: 3, maxLength: 3 },
      acquiredOn: { type: 'string', format: 'date' },
      location: { $ref: '#/components/schemas/Location' },
      serial: { type: 'string' },
      isLeased: { type: 'boolean' },
    },
    'id',
    'kind',
    'amount',
  ),
  // Nothing is required of the whole: before a peer is measured, it is sent other bodies.
  Application: object({
    applicationId: { type: 'string' },
    requestedAt: { type: 'string', format: 'date-time' },
    amount: { type: 'number' },
    termMonths: { type: 'integer', minimum: 1, maximum: 600 },
    purpose: { type: 'string', maxLength: 1000 },
    assets: { type: 'array', maxItems: 1000, items: { $ref: '#/components/schemas/Asset' } },
  }),
}

const content = { 'application/json': { schema: { $ref: '#/components/schemas/Application' } } }
const responses = { 200: { description: 'the same', content } }

/** The OpenAPI document. */
export const benchContract = {
  openapi: '3.1.0',
  info: { title: 'Bench', version: '1.0.0' },
  paths: {
    '/valuation/score': { post: { requestBody: { required: true, content }, responses } },
    '/market/insights': { get: { responses } },
  },
  components: { schemas },
}
