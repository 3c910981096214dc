import { describe, expect, test, vi } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import {
  cacheInvalidationLayer,
  type Invalidate,
  invalidationTargets,
} from '../../../src/features/cache/invalidation.ts'
import { fakeExchange, fakeResponse } from '../../helpers/exchange.ts'
import { applyToKeys, pairWith } from '../../helpers/table.ts'
import { FedBody } from './helper.ts'

const uri = { origin: 'https://gateway.example', basePath: '', path: '/inventory/sync', query: '?a' }
const insights = { operation: 'market.insights', query: '' }

const toInsights = (origin: string): string => `${origin}/market/insights`

const named = (reference: string, given: Partial<typeof uri> = {}) =>
  invalidationTargets({ status: 201, fields: ['Location', reference] }, { ...uri, ...given })

test.each([
  ['invalidates', [200, 201, 204, 299, 301, 303, 399], [insights]],
  ['does not', [199, 400, 404, 409, 500, 503], []],
])('what %s by its status: %j', (_, statuses, expected) => {
  const toTargets = (status: number) => invalidationTargets({ status, fields: ['Location', '/market/insights'] }, uri)

  expect(pairWith(statuses, toTargets)).toEqual(pairWith(statuses, () => expected))
})

describe('a reference names', () => {
  test.each<[string, Record<string, string>]>([
    ['by its path', { '/market/insights': '', '../market/insights': '', '/x/../market/insights': '' }],
    ['by its origin', { 'https://gateway.example/market/insights': '', '//gateway.example/market/insights': '' }],
    ['by its origin otherwise written', { 'https://GATEWAY.example:443/market/insights': '' }],
    ['with more around it', { ' /market/insights ': '', '/market/insights#part': '' }],
    ['with a query', { '/market/insights?': '?', '/market/insights?x=1&y=%20': '?x=1&y=%20' }],
    ['with a query of odd characters', { "/market/insights?it's#?b": "?it's" }],
  ])('market.insights %s: %j', (_, queries) => {
    const found = applyToKeys(queries, (reference) => named(reference))

    expect(found).toEqual(applyToKeys(queries, (each) => [{ operation: 'market.insights', query: queries[each] }]))
  })

  test.each([
    ['no operation', ['/market/insights/', '/Market/insights', '?x', '', '/', 'urn:x', 'https://[/market/insights']],
    ['a POST', ['/valuation/score']],
    ['another scheme, or port', 'http://gateway.example https://gateway.example:8443'.split(' ').map(toInsights)],
    ['others', ['https://other.example', '//other.example', 'https://gateway.example@other.example'].map(toInsights)],
  ])('nothing that can be stored: %s', (_, references) => {
    expect(references.filter((reference) => named(reference).length > 0)).toEqual([])
  })

  test('an operation below the base path', () => {
    const below = { basePath: '/lender' }

    expect(named('/lender/market/insights', below)).toEqual([insights])
    expect(named('../market/insights', below)).toEqual([insights])
    expect(named('/market/insights', below)).toEqual([])
  })
})

test('both fields count, and a target that both name counts once', () => {
  const location = ['location', '/market/insights', 'Location', '/market/insights']
  const fields = ['Content-Location', '/leads/pipeline?a', ...location]

  expect(invalidationTargets({ status: 200, fields }, uri)).toEqual([
    insights,
    { operation: 'leads.pipeline', query: '?a' },
  ])
})

test('a response that names nothing invalidates nothing', () => {
  expect(invalidationTargets({ status: 200, fields: ['Date', 'x'] }, uri)).toEqual([])
})

describe('the response', () => {
  const response = { ...fakeResponse(201), fields: ['Location', '/market/insights'] }
  const exchange = () => fakeExchange({ operation: 'inventory.sync' })
  const post = (invalidate: Invalidate, to = exchange(), got = response) =>
    cacheInvalidationLayer({ publicUrl: null, basePath: '' }, invalidate)(() => Promise.resolve(got))(to)

  /** Counts the turns of the microtask queue until a promise is settled. */
  const turnsUntil = async (promise: Promise<unknown>): Promise<number> => {
    let isSettled = false
    promise.finally(() => {
      isSettled = true
    })
    let turns = 0
    for (; !isSettled; turns++) await Promise.resolve()
    return turns
  }

  test('waits until other gateways no longer find what it names', async () => {
    const told = Promise.withResolvers<void>()
    const onResponse = vi.fn()
    const posted = post(() => told.promise).then(onResponse)
    await new Promise(setImmediate)
    expect(onResponse).not.toHaveBeenCalled()

    told.resolve()
    await posted

    expect(onResponse).toHaveBeenCalledExactlyOnceWith(response)
  })

  test('waits for nothing where no gateway shares, not for a turn of the microtask queue', async () => {
    const namesNothing = await turnsUntil(post(() => null, exchange(), { ...fakeResponse(201), fields: [] }))

    expect(await turnsUntil(post(() => null))).toBe(namesNothing)
    expect(await turnsUntil(post(() => Promise.resolve()))).toBeGreaterThan(namesNothing)
  })

  // HTTP/1.0 may come without Host. The others are none that a URL may have.
  test.each([
    ['', '/market/insights', [[[insights]]]],
    ['', 'http://gateway.example/market/insights', []],
    ['gw.1', '/market/insights', [[[insights]]]],
    ['gw.1', 'http://gw.1/market/insights', []],
    ['1.2.3.4.5', '/market/insights', [[[insights]]]],
    ['a%25b', '/market/insights', [[[insights]]]],
  ])('to a request with the Host %j removes what it names by path alone: %s', async (authority, location, removed) => {
    const invalidate = vi.fn<Invalidate>(() => null)
    const unnamed = fakeExchange({ operation: 'inventory.sync', authority })
    await post(invalidate, unnamed, { ...response, fields: ['Location', location] })

    expect(invalidate.mock.calls).toEqual(removed)
  })

  test('does not go out when the exchange has ended meanwhile', async () => {
    const told = Promise.withResolvers<void>()
    const ended = exchange()
    const body = new FedBody()
    const posted = post(() => told.promise, ended, { ...response, body })
    const reason = new GatewayError('client-gone')

    ended.abort(reason)
    told.resolve()

    await expect(posted).rejects.toBe(reason)
    expect(body.discarded).toBe(true)
  })
})
