import { describe, expect, test } from 'vitest'
import { invalidationTargets } from '../../../src/layers/cache/invalidation.ts'

const uri = { origin: 'https://gateway.example', basePath: '', path: '/inventory/sync', query: '?a' }
const insights = { operation: 'market.insights', query: '' }

const named = (reference: string, given: Partial<typeof uri> = {}) =>
  invalidationTargets({ status: 201, fields: ['Location', reference] }, { ...uri, ...given })

test.each([200, 201, 204, 299, 301, 303, 399])('a %d invalidates', (status) => {
  expect(invalidationTargets({ status, fields: ['Location', '/market/insights'] }, uri)).toEqual([insights])
})

test.each([199, 400, 404, 409, 500, 503])('a %d does not', (status) => {
  expect(invalidationTargets({ status, fields: ['Location', '/market/insights'] }, uri)).toEqual([])
})

describe('a reference names', () => {
  test.each([
    ['/market/insights', ''],
    ['../market/insights', ''],
    ['/x/../market/insights', ''],
    ['https://gateway.example/market/insights', ''],
    ['https://GATEWAY.example:443/market/insights', ''],
    ['//gateway.example/market/insights', ''],
    [' /market/insights ', ''],
    ['/market/insights#part', ''],
    ['/market/insights?', '?'],
    ['/market/insights?x=1&y=%20', '?x=1&y=%20'],
    ["/market/insights?it's#?b", "?it's"],
  ])('market.insights: %j with the query %j', (reference, query) => {
    expect(named(reference)).toEqual([{ operation: 'market.insights', query }])
  })

  test.each([
    '/market/insights/',
    '/Market/insights',
    '/valuation/score',
    '?x',
    '',
    '/',
    'http://gateway.example/market/insights',
    'https://gateway.example:8443/market/insights',
    'https://other.example/market/insights',
    '//other.example/market/insights',
    'https://gateway.example@other.example/market/insights',
    'https://[/market/insights',
    'urn:x',
  ])('nothing that can be stored: %j', (reference) => {
    expect(named(reference)).toEqual([])
  })

  test('an operation below the base path', () => {
    const below = { basePath: '/lender' }

    expect(named('/lender/market/insights', below)).toEqual([insights])
    expect(named('../market/insights', below)).toEqual([insights])
    expect(named('/market/insights', below)).toEqual([])
  })
})

test('both fields count, and a target that both name counts once', () => {
  const fields = [
    'Content-Location',
    '/leads/pipeline?a',
    'location',
    '/market/insights',
    'Location',
    '/market/insights',
  ]

  expect(invalidationTargets({ status: 200, fields }, uri)).toEqual([
    insights,
    { operation: 'leads.pipeline', query: '?a' },
  ])
})

test('a response that names nothing invalidates nothing', () => {
  expect(invalidationTargets({ status: 200, fields: ['Date', 'x'] }, uri)).toEqual([])
})
