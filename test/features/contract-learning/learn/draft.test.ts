import { expect, test } from 'vitest'
import { renderDraft } from '../../../../src/features/contract-learning/learn/draft.ts'
import { createLearner, type ObservedRequest } from '../../../../src/features/contract-learning/learn/learner.ts'
import { compileSchema, operationOf } from './draft-checker.ts'
import { learnerOptions, requestOf } from './learn-hidden-contract.ts'

/** Learns from requests for scores, each as often as told, and returns what the draft says of them. */
const draftOf = (requests: readonly Partial<ObservedRequest>[], { times = 12, enums = false } = {}) => {
  const learner = createLearner({ ...learnerOptions, enums })
  for (let i = 0; i < times; i++)
    for (const each of requests) learner.observeRequest('valuation.score', requestOf({ body: {}, ...each }))
  return operationOf(renderDraft(learner.report), '/valuation/score', 'post')
}

const bodySchema = (bodies: readonly unknown[], options = {}) => {
  const requests = bodies.map((body) => ({ body }))
  const { requestBody } = draftOf(requests, options)
  return requestBody?.content?.['application/json']?.schema ?? {}
}

test('a draft has the operations that were seen, and names the others', () => {
  const learner = createLearner(learnerOptions)
  const request = requestOf({ contentType: null, query: '?region=north&limit=5' })
  for (let i = 0; i < 12; i++) learner.observeRequest('market.insights', request)
  learner.observeResponse('market.insights', { status: 200, contentType: 'application/json', body: [] })
  learner.observeResponse('market.insights', { status: 204, contentType: null, body: undefined })

  const parameter = { in: 'query', required: true, 'x-seen': '12 of 12' }
  const items = { schema: { type: 'array', 'x-items': { from: 0, below: 1 } }, 'x-seen': '1 of 1' }
  expect(renderDraft(learner.report)).toEqual({
    openapi: '3.1.0',
    info: { title: 'Lender integration service', version: 'draft', description: 'Drawn up from traffic.' },
    'x-gap':
      'never seen: valuation.score, financing.pre-approval, analysis.esg-grant, risk.asset-valuation, ' +
      'valuation.forecast, inventory.sync, leads.pipeline, compliance.audit-trail',
    paths: {
      '/market/insights': {
        get: {
          operationId: 'market.insights',
          tags: ['market'],
          'x-seen': '12 of 12',
          parameters: [
            { ...parameter, name: 'limit', schema: { type: 'integer' } },
            { ...parameter, name: 'region', schema: { type: 'string', 'x-length': { from: 1, below: 10 } } },
          ],
          responses: {
            200: { description: 'Status 200', content: { 'application/json': items }, 'x-seen': '1 of 2' },
            204: { description: 'Status 204', 'x-seen': '1 of 2' },
            default: { description: 'Any other status', 'x-gap': 'statuses that were not seen' },
          },
        },
      },
    },
  })
})

test('a draft of nothing has no paths', () => {
  expect(renderDraft(createLearner(learnerOptions).report)).toMatchObject({ openapi: '3.1.0', paths: {} })
})

test('a POST without a body, and without a response, has gaps', () => {
  expect(draftOf([{ contentType: null, body: undefined }])).toMatchObject({
    'x-gap': 'no request body seen; no response seen',
  })
})

test('a member is required where all of ten objects or more have it', () => {
  const bodies = [{ always: 1, often: 1 }, { always: 1 }]

  expect(bodySchema(bodies, { times: 5 })).toMatchObject({ required: ['always'] })
  expect(bodySchema(bodies, { times: 4 })).not.toHaveProperty('required')
})

const offers = Array.from({ length: 30 }, (_, i) => ({ offers: { [`offer-${10_000 + i}`]: { rate: i } } }))
const offer = { type: 'object', properties: { rate: { type: 'integer' } }, required: ['rate'] }
const amounts = [
  { amount: 250.5, tags: ['a', 'bc'] },
  { amount: -3, tags: [] },
]
const magnitudes = {
  amount: { type: 'number', 'x-range': { above: -10, below: 1000 } },
  tags: { type: 'array', items: { type: 'string' }, 'x-items': { from: 0, below: 10 } },
}
const ofTypes = { anyOf: ['string', 'integer', 'null'].map((type) => ({ type, 'x-seen': '12 of 36' })) }
const rateOrNull = { type: ['number', 'null'], 'x-null': '12 of 24', 'x-seen': '24 of 24' }
const grades = ['A', 'B', null].map((grade) => ({ grade }))
const grade = { type: ['string', 'null'], enum: ['A', 'B', null] }
const huge = [JSON.parse('{"huge":1e999}'), { huge: 1 }]
const beyondDouble = 'numbers beyond the range of a double'

test.each<[string, readonly unknown[], object, object]>([
  ['a member that may be null has two types', [{ rate: 1.5 }, { rate: null }], {}, { rate: rateOrNull }],
  ['the enumeration of a member that may be null has null', grades, { times: 25, enums: true }, { grade }],
  ['values of several types are written as alternatives', [{ id: 'a' }, { id: 7 }, { id: null }], {}, { id: ofTypes }],
  ['numbers and lengths are written as orders of magnitude', amounts, {}, magnitudes],
  ['a map keyed by ids has one schema for all its values', offers, {}, { offers: { additionalProperties: offer } }],
  ['a number beyond a double leaves its place open', huge, {}, { huge: { 'x-gap': beyondDouble } }],
])('%s', (_, bodies, options, properties) => {
  expect(bodySchema(bodies, options)).toMatchObject({ properties })
})

test('orders of magnitude, numbers beyond a double and members that are not named bind nothing', () => {
  const accepts = (bodies: readonly unknown[], body: unknown) => compileSchema(bodySchema(bodies))(body)

  expect(accepts(amounts, { amount: 10 ** 9, tags: ['x'.repeat(999)] })).toBe(true)
  expect(accepts(huge, { huge: Number.POSITIVE_INFINITY })).toBe(true)
  expect(accepts([{ id: 1 }], { id: 1, later: true })).toBe(true)
  expect(JSON.stringify(bodySchema([{ id: 1 }]))).not.toContain('additionalProperties')
})

test('a draft shows no id of a map keyed by ids', () => {
  expect(JSON.stringify(bodySchema(offers))).not.toContain('offer-')
})

test('more than 64 names in one place are a map', () => {
  const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i]))
  const [few, many] = [bodySchema([names(64)]), bodySchema([names(65)])]

  expect(Object.keys(few.properties ?? {})).toHaveLength(64)
  expect(many).toMatchObject({ additionalProperties: { type: 'integer' } })
  expect(many).not.toHaveProperty('properties')
})

test('a name seen twice, or in less than one of a hundred objects, is only counted', () => {
  const bodies = [{ id: 1, seldom: 1 }, ...Array.from({ length: 200 }, () => ({ id: 1 }))]

  expect(bodySchema([{ id: 1 }, { id: 1, once: 1 }], { times: 2 })).toMatchObject({
    'x-gap': 'names seen too rarely to be listed: 1',
  })
  expect(JSON.stringify(bodySchema(bodies, { times: 5 }))).not.toContain('seldom')
})

const open = { status: 'OPEN' }
const states = [open, { status: 'CLOSED' }]

test.each<[number, boolean, readonly object[], string | undefined]>([
  [25, true, states, '"enum":["CLOSED","OPEN"]'],
  [25, false, states, undefined],
  [24, true, states, undefined],
  [25, true, [...states, { status: 'Jane Doe' }], undefined],
  [60, true, [open], undefined],
])(
  'an enumeration takes fifty codes, each of them known, and the setting: %i times, %j, %j',
  (times, enums, of, told) => {
    expect(JSON.stringify(bodySchema(of, { times, enums })).match(/"enum":\[.*?\]/)?.[0]).toBe(told)
  },
)

test.each<[string, readonly string[], object]>([
  ['?id=1&id=2', ['?id=3', ''], { name: 'id', required: false, schema: { type: 'array', items: { type: 'integer' } } }],
  ['?flag=true', ['?flag=false'], { schema: { type: 'boolean' } }],
  ['?flag=1.5', ['?flag=-2'], { schema: { type: 'number' } }],
  ['?flag=007', ['?flag=8'], { schema: { type: 'string' } }],
  ['?flag=12345678901234567890', ['?flag=1'], { schema: { type: 'string' } }],
])('%s and %j make a parameter %j', (one, others, parameter) => {
  expect(draftOf([one, ...others].map((query) => ({ query }))).parameters).toMatchObject([parameter])
})

test('content types beyond the limit are one entry', () => {
  const types = ['application/json; charset=utf-8', 'nonsense', null]

  expect(draftOf(types.map((contentType) => ({ contentType }))).requestBody).toMatchObject({
    content: {
      'application/json': { 'x-seen': '12 of 36' },
      '*/*': { 'x-seen': '24 of 36', 'x-gap': 'content types beyond the limit, counted together' },
    },
    'x-gap': 'without a content type, or with one that looks like data: 24',
  })
})

test('a body that was not read is a gap', () => {
  expect(draftOf([{}, { body: undefined }]).requestBody?.content?.['application/json']).toMatchObject({
    'x-seen': '24 of 24',
    'x-gap': '12 bodies were not read as JSON',
  })
})

test('names that every object inherits are not in a draft', () => {
  const schema = bodySchema([JSON.parse('{"__proto__":1,"toString":1,"constructor":1,"id":1}')])

  expect([Object.keys(schema.properties ?? {}), compileSchema(schema)({ id: 1 })]).toEqual([['id'], true])
})
