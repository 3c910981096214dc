import fc from 'fast-check'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import type { Exchange, Layer } from '../../../../src/core/exchange/exchange.ts'
import { type HeaderFields, omitFields } from '../../../../src/core/exchange/header-fields.ts'
import { describeTests, inDrills, test, testAndDrill } from '../../../helpers/speed.ts'
import { type Mutation, playStory, story, type Tally } from './reference/sequences.ts'

beforeAll(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }))
afterAll(() => void vi.useRealTimers())

testAndDrill(
  'whatever happens, a client is served nothing that a naive reading of RFC 9111 would not serve',
  async () => {
    const tally: Tally = { requests: 0, reused: 0 }

    await fc.assert(
      fc.asyncProperty(story, (acts) => playStory(acts, tally)),
      { numRuns: inDrills ? 5000 : 500 },
    )

    expect(tally.reused).toBeGreaterThan(100)
  },
)

/** Hides part of a response from the cache. */
const hiding =
  (edit: (fields: HeaderFields) => HeaderFields): Mutation =>
  (layer: Layer): Layer =>
  (next) =>
    layer(async (exchange) => {
      const response = await next(exchange)
      return { ...response, fields: edit(response.fields) }
    })

const directive = (name: string): Mutation =>
  hiding((fields) => fields.map((text) => text.replace(new RegExp(`(^|, )${name}(=\\d+)?(?=,|$)`), '$1x-unheard')))

/** Changes what the cache sees of an exchange. */
const changing =
  (change: (exchange: Exchange) => void): Mutation =>
  (layer: Layer): Layer =>
  (next) => {
    const handle = layer(next)
    return (exchange) => {
      change(exchange)
      return handle(exchange)
    }
  }

const request = (name: string): Mutation =>
  changing((exchange) => {
    exchange.fields = omitFields(exchange.fields, new Set([name]))
  })

describeTests('the model detects a cache that', () => {
  const mutations: Readonly<Record<string, Mutation>> = {
    'ignores the identity': changing((exchange) => {
      exchange.identity = null
    }),
    'ignores private': directive('private'),
    'ignores no-store': directive('no-store'),
    'ignores no-cache': directive('no-cache'),
    'ignores must-revalidate': directive('must-revalidate'),
    'ignores s-maxage': directive('s-maxage'),
    'ignores Vary': hiding((fields) => omitFields(fields, new Set(['vary']))),
    'ignores Age': hiding((fields) => omitFields(fields, new Set(['age']))),
    'ignores Set-Cookie': hiding((fields) => omitFields(fields, new Set(['set-cookie']))),
    'ignores Authorization': request('authorization'),
    'ignores the directives of clients': request('cache-control'),
  }

  test.each(Object.entries(mutations))('%s', async (_, mutation) => {
    const run = await fc.check(
      fc.asyncProperty(story, (acts) => playStory(acts, { requests: 0, reused: 0 }, mutation)),
      { seed: 1, numRuns: 2000, endOnFailure: true }, // always the same stories, which are known to detect each
    )

    expect(run.failed).toBe(true)
  })
})
