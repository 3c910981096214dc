import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Exchange, Layer } from '../../src/exchange.ts'
import { type HeaderFields, omitFields } from '../../src/header-fields.ts'
import { story, type Tally, tell, type Wrong } from './reference/sequences.ts'

beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterAll(() => void vi.useRealTimers())

test('whatever happens, nothing is served that a naive reading of RFC 9111 would not serve to that client', async () => {
  const tally: Tally = { requests: 0, reused: 0 }

  // What fails is told with its seed and its path, as small as it could be made in time.
  await fc.assert(
    fc.asyncProperty(story, (told) => tell(told, tally)),
    { numRuns: 1000, interruptAfterTimeLimit: 6_000 },
  )

  expect(tally.reused).toBeGreaterThan(100)
})

/** Hides something of answers from the cache. */
const hiding =
  (edit: (fields: HeaderFields) => HeaderFields): Wrong =>
  (layer: Layer): Layer =>
  (next) =>
    layer(async (exchange) => {
      const answer = await next(exchange)
      return { ...answer, fields: edit(answer.fields) }
    })

const directive = (name: string): Wrong =>
  hiding((fields) => fields.map((text) => text.replace(new RegExp(`(^|, )${name}(=\\d+)?(?=,|$)`), '$1x-unheard')))

/** Changes what the cache sees of an exchange. */
const changing =
  (change: (exchange: Exchange) => void): Wrong =>
  (layer: Layer): Layer =>
  (next) => {
    const handle = layer(next)
    return (exchange) => {
      change(exchange)
      return handle(exchange)
    }
  }

const request = (name: string): Wrong =>
  changing((exchange) => {
    exchange.fields = omitFields(exchange.fields, new Set([name]))
  })

describe('the model finds out a cache that', () => {
  const wrongs: Readonly<Record<string, Wrong>> = {
    'does not ask who calls': changing((exchange) => {
      exchange.identity = null
    }),
    'does not hear private': directive('private'),
    'does not hear no-store': directive('no-store'),
    'does not hear no-cache': directive('no-cache'),
    'does not hear must-revalidate': directive('must-revalidate'),
    'does not hear s-maxage': directive('s-maxage'),
    'does not see Vary': hiding((fields) => omitFields(fields, new Set(['vary']))),
    'does not see Age': hiding((fields) => omitFields(fields, new Set(['age']))),
    'does not see Set-Cookie': hiding((fields) => omitFields(fields, new Set(['set-cookie']))),
    'does not see Authorization': request('authorization'),
    'does not see what clients say': request('cache-control'),
  }

  test.each(Object.entries(wrongs))('%s', async (_, wrong) => {
    const run = await fc.check(
      fc.asyncProperty(story, (told) => tell(told, { requests: 0, reused: 0 }, wrong)),
      { seed: 1, numRuns: 2000, endOnFailure: true }, // always the same stories: each is known to be found out by them
    )

    expect(run.failed).toBe(true)
  })
})
