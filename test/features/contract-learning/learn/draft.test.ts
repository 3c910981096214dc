import { expect, test } from 'vitest'
import { renderDraft } from '../../../../src/features/contract-learning/learn/draft.ts'
import { createLearner, type ObservedRequest } from '../../../../src/features/contract-learning/learn/learner.ts'
import type { OperationId } from '../../../../src/operations.ts'
import { compileSchema, operationOf } from './draft-checker.ts'
import { learnerOptions } from './learn-hidden-contract.ts'

const request: ObservedRequest = { query: '', fields: [], contentType: 'application/json', body: {} }

/** Learns from requests, each as often as told. */
const draftOf = (
  requests: readonly Partial<ObservedRequest>[],
  { times = 12, operation = 'valuation.score' as OperationId, enums = false } = {},
) => {
  const learner = createLearner({ ...learnerOptions, enums })
  for (let i = 0; i < times; i++) {
    for (const each of requests) learner.observeRequest(operation, { ...request, ...each })
  }
  return renderDraft(learner.report)
}

const bodySchema = (bodies: readonly unknown[], options = {}) =>
  operationOf(
    draftOf(
      bodies.map((body) => ({ body })),
      options,
    ),
    '/valuation/score',
    'post',
  ).requestBody?.content?.['application/json']?.schema

test('a draft holds those of the nine that were seen, and says which were not', () => {
  const learner = createLearner(learnerOptions)
  const message = { query: '', fields: [], contentType: null, body: undefined }
  for (let i = 0; i < 12; i++) learner.observeRequest('market.insights', { ...message, query: '?region=north&limit=5' })
  learner.observeResponse('market.insights', { status: 200, contentType: 'application/json', body: [] })
  learner.observeResponse('market.insights', { status: 204, contentType: null, body: undefined })

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
            { in: 'query', name: 'limit', schema: { type: 'integer' }, required: true, 'x-seen': '12 of 12' },
            {
              in: 'query',
              name: 'region',
              schema: { type: 'string', 'x-length': { from: 1, below: 10 } },
              required: true,
              'x-seen': '12 of 12',
            },
          ],
          responses: {
            200: {
              description: 'Status 200',
              content: {
                'application/json': {
                  schema: { type: 'array', 'x-items': { from: 0, below: 1 } },
                  'x-seen': '1 of 1',
                },
              },
              'x-seen': '1 of 2',
            },
            204: { description: 'Status 204', 'x-seen': '1 of 2' },
            default: { description: 'Any other status', 'x-gap': 'statuses that were not seen' },
          },
        },
      },
    },
  })
})

test('nothing learnt makes a document without paths', () => {
  expect(renderDraft(createLearner(learnerOptions).report)).toMatchObject({ openapi: '3.1.0', paths: {} })
})

test('a POST without a body, and without a response, has gaps', () => {
  const draft = draftOf([{ contentType: null, body: undefined }])

  expect(operationOf(draft, '/valuation/score', 'post')).toMatchObject({
    'x-gap': 'no request body seen; no response seen',
  })
})

test('a member is required where all of ten objects or more have it', () => {
  const bodies = [{ always: 1, often: 1 }, { always: 1 }]

  expect(bodySchema(bodies, { times: 5 })).toMatchObject({ required: ['always'] })
  expect(bodySchema(bodies, { times: 4 })).not.toHaveProperty('required')
})

test('a member that may be null has two types, and its enumeration has null', () => {
  expect(bodySchema([{ rate: 1.5 }, { rate: null }])).toMatchObject({
    properties: { rate: { type: ['number', 'null'], 'x-null': '12 of 24', 'x-seen': '24 of 24' } },
  })
  expect(bodySchema([{ grade: 'A' }, { grade: 'B' }, { grade: null }], { times: 25, enums: true })).toMatchObject({
    properties: { grade: { type: ['string', 'null'], enum: ['A', 'B', null] } },
  })
})

test('values of several types are written as alternatives', () => {
  expect(bodySchema([{ id: 'a' }, { id: 7 }, { id: null }])).toMatchObject({
    properties: {
      id: {
        anyOf: [
          { type: 'string', 'x-seen': '12 of 36' },
          { type: 'integer', 'x-seen': '12 of 36' },
          { type: 'null', 'x-seen': '12 of 36' },
        ],
      },
    },
  })
})

test('numbers and lengths are written as orders of magnitude, which bind nothing', () => {
  const schema = bodySchema([
    { amount: 250.5, tags: ['a', 'bc'] },
    { amount: -3, tags: [] },
  ])

  expect(schema).toMatchObject({
    properties: {
      amount: { type: 'number', 'x-range': { above: -10, below: 1000 } },
      tags: { type: 'array', items: { type: 'string' }, 'x-items': { from: 0, below: 10 } },
    },
  })
  expect(compileSchema(schema ?? {})({ amount: 10 ** 9, tags: ['x'.repeat(999)] })).toBe(true)
})

test('members that the draft does not name are allowed', () => {
  const schema = bodySchema([{ id: 1 }])

  expect(JSON.stringify(schema)).not.toContain('additionalProperties')
  expect(compileSchema(schema ?? {})({ id: 1, later: true })).toBe(true)
})

test('a map keyed by ids has one schema for all its values, and none of the ids', () => {
  const bodies = Array.from({ length: 30 }, (_, i) => ({ offers: { [`offer-${10_000 + i}`]: { rate: i } } }))

  expect(bodySchema(bodies)).toMatchObject({
    properties: {
      offers: {
        additionalProperties: { type: 'object', properties: { rate: { type: 'integer' } }, required: ['rate'] },
      },
    },
  })
  expect(JSON.stringify(bodySchema(bodies))).not.toContain('offer-')
})

test('more than 64 names in one place are a map', () => {
  const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, i]))

  expect(bodySchema([names(64)])?.properties).toMatchObject(names(0))
  expect(Object.keys(bodySchema([names(64)])?.properties ?? {})).toHaveLength(64)
  expect(bodySchema([names(65)])).toMatchObject({ additionalProperties: { type: 'integer' } })
  expect(bodySchema([names(65)])).not.toHaveProperty('properties')
})

test('a name seen twice, or in less than one of a hundred objects, is only counted', () => {
  const bodies = [{ id: 1, seldom: 1 }, ...Array.from({ length: 200 }, () => ({ id: 1 }))]

  expect(bodySchema([{ id: 1 }, { id: 1, once: 1 }], { times: 2 })).toMatchObject({
    'x-gap': 'names seen too rarely to be told: 1',
  })
  expect(JSON.stringify(bodySchema(bodies, { times: 5 }))).not.toContain('seldom')
})

test('an enumeration takes fifty codes, each of them known, and the setting', () => {
  const bodies = [{ status: 'OPEN' }, { status: 'CLOSED' }]
  const enumOf = (options: object, of = bodies) => JSON.stringify(bodySchema(of, options)).match(/"enum":\[.*?\]/)?.[0]

  expect(enumOf({ times: 25, enums: true })).toBe('"enum":["CLOSED","OPEN"]')
  expect(enumOf({ times: 25, enums: false })).toBeUndefined()
  expect(enumOf({ times: 24, enums: true })).toBeUndefined()
  expect(enumOf({ times: 25, enums: true }, [...bodies, { status: 'Jane Doe' }])).toBeUndefined()
  expect(enumOf({ times: 60, enums: true }, [{ status: 'OPEN' }])).toBeUndefined()
})

test('a parameter that comes more than once is an array', () => {
  const draft = draftOf([{ query: '?id=1&id=2' }, { query: '?id=3' }, {}])

  expect(operationOf(draft, '/valuation/score', 'post').parameters).toMatchObject([
    { name: 'id', in: 'query', required: false, schema: { type: 'array', items: { type: 'integer' } } },
  ])
})

test.each([
  ['?flag=true', '?flag=false', 'boolean'],
  ['?flag=1.5', '?flag=-2', 'number'],
  ['?flag=007', '?flag=8', 'string'],
  ['?flag=12345678901234567890', '?flag=1', 'string'],
])('%s and %s make a parameter of the type %s', (one, other, type) => {
  const draft = draftOf([{ query: one }, { query: other }])

  expect(operationOf(draft, '/valuation/score', 'post').parameters).toMatchObject([{ schema: { type } }])
})

test('content types that are not told apart are allowed, as one', () => {
  const draft = draftOf([
    { contentType: 'application/json; charset=utf-8' },
    { contentType: 'nonsense' },
    { contentType: null },
  ])

  expect(operationOf(draft, '/valuation/score', 'post').requestBody).toMatchObject({
    content: {
      'application/json': { 'x-seen': '12 of 36' },
      '*/*': { 'x-seen': '24 of 36', 'x-gap': 'content types not told apart' },
    },
    'x-gap': 'without a content type, or with one that looks like data: 24',
  })
})

test('a body that was not read is a gap', () => {
  const draft = draftOf([{}, { body: undefined }])

  expect(operationOf(draft, '/valuation/score', 'post').requestBody?.content?.['application/json']).toMatchObject({
    'x-seen': '24 of 24',
    'x-gap': '12 bodies were not read as JSON',
  })
})

test('a number beyond a double leaves its place open', () => {
  const schema = bodySchema([JSON.parse('{"huge":1e999}'), { huge: 1 }])

  expect(schema).toMatchObject({ properties: { huge: { 'x-gap': 'numbers beyond the range of a double' } } })
  expect(compileSchema(schema ?? {})({ huge: Number.POSITIVE_INFINITY })).toBe(true)
})

test('names that an object inherits are not told', () => {
  const body = JSON.parse('{"__proto__":1,"toString":1,"constructor":1,"id":1}')
  const schema = bodySchema([body])

  expect(Object.keys(schema?.properties ?? {})).toEqual(['id'])
  expect(compileSchema(schema ?? {})({ id: 1 })).toBe(true)
})
