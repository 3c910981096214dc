/** RFC 9111, 9110, 5861 and 9211, where a check takes several requests. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { getFirstFieldValue } from '../../../src/core/exchange/header-fields.ts'
import type { CacheRules } from '../../../src/features/cache/policy/cache-request.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { Client, createResponse, getCacheStatus, openCache, settled } from './helper.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A response of the upstream, or how it fails. Its body is its number: that of the first is `1`. */
type Said = readonly [status: number, ...fields: string[]] | 'connect-failed' | 'reset-before-headers'

/**
 * A request: its time, its fields, the upstream's response (null: unchanged), the result, and the fields that the
 * upstream gets. `fetched`: the upstream was asked before the client had its response; `behind`: after; `cached`: not
 * at all.
 */
type Step = readonly [
  second: number,
  fields: readonly string[],
  said: Said | null,
  outcome: string,
  sent?: readonly string[],
]

const ok = (control: string, ...fields: string[]): Said => [200, 'Cache-Control', control, ...fields]
const saying = (control: string): string[] => ['Cache-Control', control]
const tag = ['ETag', '"a"']
const knows = (value: string): string[] => ['If-None-Match', value]

/** Plays requests, and returns what came of each, and the Cache-Status of the last. */
const play = async (steps: readonly Step[], rules: Partial<CacheRules> = {}) => {
  const stage = openCache({ staleWhenDisconnected: 60_000, ...rules })
  const outcomes: Step[] = []
  let said: Said = [200]
  let responses = 0
  let status: string | undefined
  const start = Date.now()
  for (const [second, fields, next, , expectedSent] of steps) {
    vi.advanceTimersByTime(start + second * 1000 - Date.now())
    said = next ?? said
    const exchange = fakeExchange({ fields: [...fields] })
    const from = stage.sent.length
    let outcome: string | null = null
    stage.handle(exchange).then(
      (response) => {
        const age = getFirstFieldValue(response.fields, 'age')
        const text = new Client(response.body).text
        outcome = [response.status, text, age && `age ${age}`].filter(Boolean).join(' ')
      },
      ({ kind }: GatewayError) => {
        outcome = kind
      },
    )
    await settled()
    const isFirst = outcome !== null
    for (let nth = from; nth < stage.sent.length; nth++) {
      const [code, ...own] = typeof said === 'string' ? [0] : said
      responses++
      if (typeof said === 'string') await stage.sent[nth]?.fail(new GatewayError(said))
      else await stage.sent[nth]?.respond(createResponse(own as string[], code === 304 ? '' : `${responses}`, code))
    }
    status = getCacheStatus(exchange)
    const source = stage.sent.length === from ? 'cached' : isFirst ? 'behind' : 'fetched'
    const step = [second, fields, next, `${source} ${outcome}`] as const
    outcomes.push(expectedSent === undefined ? step : [...step, stage.sent[from]?.exchange.fields ?? []])
  }
  return { outcomes, status }
}

const keep = (says: string, steps: readonly Step[], rules?: Partial<CacheRules>): void =>
  test(says, async () => {
    expect((await play(steps, rules)).outcomes).toEqual(steps)
  })

describe('what is stored (RFC 9111 §3, §4, §4.2)', () => {
  const bearer = ['Authorization', 'Bearer one']
  const other = ['Authorization', 'Bearer two']
  const shared = true

  keep(
    'is for all, where it is shared and the response to Authorization says public (§3.5)',
    [
      [0, bearer, ok('public, max-age=10'), 'fetched 200 1', bearer],
      [1, other, null, 'cached 200 1 age 1'],
      [1, [], null, 'cached 200 1 age 1'],
      [20, other, null, 'fetched 200 2', other],
    ],
    { shared },
  )

  keep(
    'is fresh for as long as ttl says, where it says nothing itself, and so it is after a 304 that says nothing',
    [
      [0, [], [200, ...tag], 'fetched 200 1'],
      [59, [], null, 'cached 200 1 age 59'],
      [61, [], [304, ...tag], 'fetched 200 1', knows('"a"')],
      [120, [], null, 'cached 200 1 age 59'],
    ],
    { ttl: { 200: 60_000 } },
  )

  const onlyIfCached = saying('only-if-cached')

  for (const fields of [[], ['Range', 'bytes=0-0']])
    keep(`only-if-cached: 504 where nothing is stored (§5.2.1.7): ${fields}`, [
      [0, [...fields, ...onlyIfCached], null, 'cached not-cached'],
    ])

  for (const fields of [bearer, ['If-Match', '"a"'], ['X-Api-Key', 'k']])
    keep(`only-if-cached: 504 where ${fields[0]} passes what is stored by`, [
      [0, [], ok('max-age=60'), 'fetched 200 1'],
      [0, [...fields, ...onlyIfCached], null, 'cached not-cached'],
    ])

  keep('only-if-cached: 504 where what is stored is another variant, or stale', [
    [0, ['Accept', 'a/b'], ok('max-age=60', 'Vary', 'Accept'), 'fetched 200 1'],
    [0, ['Accept', 'c/d', ...onlyIfCached], null, 'cached not-cached'],
    [59, ['Accept', 'a/b', ...saying('no-store, only-if-cached')], null, 'cached 200 1 age 59'],
    [60, ['Accept', 'a/b', ...onlyIfCached], null, 'cached not-cached'],
  ])
})

describe('validation (RFC 9111 §4.3)', () => {
  const own = ['X-Own', '1', 'Accept', 'a/b']
  const notModified = (...fields: string[]): Said => [304, ...tag, ...fields]

  keep('a 304 makes the stored response young again, for a client that has another', [
    [0, [], ok('max-age=10', ...tag), 'fetched 200 1'],
    [20, [...knows('"b"'), ...own], notModified(...saying('max-age=10')), 'fetched 200 1', [...own, ...knows('"a"')]],
    [25, [], null, 'cached 200 1 age 5'],
    [31, knows('"a"'), null, 'fetched 304', knows('"a"')],
  ])

  keep('a whole response takes the place of the stored one, also for a client that has that', [
    [0, [], ok('max-age=10', ...tag), 'fetched 200 1'],
    [20, knows('"a"'), ok('max-age=10', 'ETag', '"b"'), 'fetched 200 2'],
    [25, [], null, 'cached 200 2 age 5'],
  ])

  for (const said of [ok('no-store'), notModified(...saying('private, max-age=100'))])
    keep(`the stored response does not come back after ${JSON.stringify(said)}`, [
      [0, [], ok('max-age=10', ...tag), 'fetched 200 1'],
      [20, [], said, `fetched 200 ${said[0] === 304 ? 1 : 2}`],
      [21, [], ok('max-age=10'), 'fetched 200 3', []],
    ])

  keep('one variant is validated, and the others stay as they are', [
    [0, ['X-A', '1'], ok('max-age=10', ...tag, 'Vary', 'X-A'), 'fetched 200 1'],
    [0, ['X-A', '2'], ok('max-age=100', 'ETag', '"b"', 'Vary', 'X-A'), 'fetched 200 2'],
    [20, ['X-A', '1'], notModified(), 'fetched 200 1', ['X-A', '1', ...knows('"a"')]],
    [21, ['X-A', '2'], null, 'cached 200 2 age 21'],
    [31, ['X-A', '1'], ok('max-age=100', 'Vary', 'X-A'), 'fetched 200 4'],
    [32, ['X-A', '2'], null, 'cached 200 2 age 32'],
  ])

  keep('what a 304 says is said of all that could have been chosen and have its strong tag (§4.3.4)', [
    [0, ['X-A', '1'], ok('max-age=10', ...tag, 'Vary', 'X-A'), 'fetched 200 1'],
    [1, ['X-A', '2'], ok('max-age=100', ...tag), 'fetched 200 2'],
    [20, ['X-A', '1'], notModified(...saying('private')), 'fetched 200 1'],
    [21, ['X-A', '1'], ok('max-age=10'), 'fetched 200 4'],
  ])

  keep('a 304 that adds a name to Vary leaves nothing to requests that differ in it', [
    [0, ['X-A', '1'], ok('max-age=10', ...tag), 'fetched 200 1'],
    [20, ['X-A', '1'], notModified('Vary', 'X-A', ...saying('max-age=100')), 'fetched 200 1'],
    [21, ['X-A', '2'], ok('max-age=100', 'Vary', 'X-A'), 'fetched 200 3'],
    [22, ['X-A', '1'], null, 'cached 200 1 age 2'],
  ])
})

describe('conditions and ranges of clients (RFC 9111 §4.3.2, RFC 9110 §14.2)', () => {
  const range = ['Range', 'bytes=0-0']

  keep('are evaluated on what is stored, which stays whole', [
    [0, knows('"a"'), ok('max-age=60', ...tag), 'fetched 304', []],
    [7, knows('"a"'), null, 'cached 304 age 7'],
    [8, range, null, 'cached 206 1 age 8'],
    [9, [], null, 'cached 200 1 age 9'],
    [9, ['If-Match', '"z"'], null, 'fetched 200 2', ['If-Match', '"z"']],
  ])
})

describe('Vary (RFC 9111 §4.1)', () => {
  keep('of a newer response counts', [
    [0, [], ok('max-age=10'), 'fetched 200 1'],
    [20, ['X-A', '1'], ok('max-age=60', 'Vary', 'X-A', ...tag), 'fetched 200 2'],
    [21, ['X-A', '2'], null, 'fetched 200 3'],
  ])
})

describe('stale-while-revalidate (RFC 5861 §3)', () => {
  const swr = 'max-age=10, stale-while-revalidate=20'

  keep('the request behind has the stored tag, and what the response varies by', [
    [0, ['X-A', '1'], ok(swr, ...tag, 'Vary', 'X-A'), 'fetched 200 1'],
    [15, ['X-A', '1', ...knows('"a"')], [304, ...tag], 'behind 304 age 15', ['X-A', '1', ...knows('"a"')]],
    [16, ['X-A', '1'], null, 'cached 200 1 age 1'],
  ])
})

describe('an error of the upstream (RFC 5861 §4)', () => {
  const sie = ok('max-age=10, stale-if-error=1000')

  for (const code of [500, 502, 503, 504])
    keep(`that is a ${code} gives way to what is stale, and the upstream is asked each time`, [
      [0, [], sie, 'fetched 200 1'],
      [15, [], [code], 'fetched 200 1 age 15'],
      [16, [], sie, 'fetched 200 3'],
    ])

  for (const code of [404, 429, 501, 505])
    keep(`that is a ${code} does not`, [
      [0, [], sie, 'fetched 200 1'],
      [15, [], [code], `fetched ${code} 2`],
    ])

  keep('gives way only where that is allowed, and to a variant of the client', [
    [0, ['X-A', '1'], ok('max-age=10', 'Vary', 'X-A'), 'fetched 200 1'],
    [0, ['X-A', '2'], ok('max-age=10, stale-if-error=1000', 'Vary', 'X-A', ...tag), 'fetched 200 2'],
    [15, ['X-A', '1'], [503], 'fetched 503 3'],
    [15, ['X-A', '3'], [503], 'fetched 503 4'],
    [15, ['X-A', '2', ...knows('"a"')], [503], 'fetched 304 age 15'],
  ])

  /** An error that says how long it may be stored. */
  const lasting = (code: number): Said => [code, ...saying('max-age=60')]
  const unwilling = saying('no-cache')
  const staleIfError = 600_000

  keep('with a lifetime does not take the place of what stale-if-error keeps', [
    [0, [], sie, 'fetched 200 1'],
    [15, [], lasting(503), 'fetched 200 1 age 15'],
    [90, [], [503], 'fetched 200 1 age 90'],
  ])

  for (const code of [500, 501, 503, 507])
    keep(`that is a ${code} with a lifetime leaves that, though its own client took it`, [
      [0, [], sie, 'fetched 200 1'],
      [15, unwilling, lasting(code), `fetched ${code} 2`],
      [20, [], [503], 'fetched 200 1 age 20'],
    ])

  for (const said of [lasting(503), [501] as const])
    keep(`leaves what is fresh: ${JSON.stringify(said)}`, [
      [0, [], ok('max-age=60'), 'fetched 200 1'],
      [5, unwilling, said, `fetched ${said[0]} 2`],
      [10, [], null, 'cached 200 1 age 10'],
    ])

  for (const [what, said, second] of [
    ['may no longer stand in for it', ok('max-age=10, stale-if-error=10'), 30],
    ['must be validated each time', ok('no-cache, max-age=100, stale-if-error=100', ...tag), 5],
  ] as const)
    keep(`with a lifetime takes the place of what ${what}`, [
      [0, [], said, 'fetched 200 1'],
      [second, [], lasting(503), 'fetched 503 2'],
      [second + 5, [], null, 'cached 503 2 age 5'],
    ])

  keep('that is stored gives way to what is good', [
    [0, [], lasting(503), 'fetched 503 1'],
    [5, unwilling, ok('max-age=60'), 'fetched 200 2'],
    [10, [], null, 'cached 200 2 age 5'],
  ])

  for (const said of ['connect-failed', 'reset-before-headers'] as const)
    keep(`that is stored is not sent stale in place of ${said}`, [
      [0, [], lasting(503), 'fetched 503 1'],
      [70, [], said, `fetched ${said}`],
    ])

  keep(
    'that is stored is not sent stale in place of another, nor while it is revalidated',
    [
      [0, [], [503, ...saying('max-age=10, stale-while-revalidate=100')], 'fetched 503 1'],
      [20, [], [500], 'fetched 500 2'],
    ],
    { staleIfError },
  )
})

describe('Cache-Status (RFC 9211) of the last request:', () => {
  const get = (said: Said, fields: readonly string[] = [], second = 0): Step => [second, fields, said, '']
  const fresh = ok('max-age=60')
  const forbidding: Said = [304, ...tag, ...saying('no-store')]
  const lasting: Said = [503, ...saying('max-age=60')]

  test.each<readonly [status: string, steps: readonly Step[]]>([
    ['hit;ttl=-5', [get(ok('max-age=10')), get(fresh, saying('max-stale'), 15)]],
    ['fwd=vary-miss;stored;ttl=60', [get(ok('max-age=60', 'Vary', 'X-A'), ['X-A', '1']), get(fresh)]],
    ['fwd=request;stored;ttl=60', [get(fresh), get(fresh, saying('no-cache'))]],
    ['fwd=stale;fwd-status=503;ttl=-5', [get(ok('max-age=10, stale-if-error=20')), get([503], [], 15)]],
    ['fwd=bypass;detail=condition', [get(fresh, ['If-Match', '"a"'])]],
    ['fwd=uri-miss;detail=range', [get(fresh, ['Range', 'bytes=0-1'])]],
    ['fwd=stale;fwd-status=304;ttl=0;detail=no-store', [get(ok('max-age=9', ...tag)), get(forbidding, [], 9)]],
    [
      'fwd=request;detail=stale-if-error',
      [get(ok('max-age=10, stale-if-error=99')), get(lasting, saying('no-cache'), 5)],
    ],
  ])('%s', async (status, steps) => {
    expect((await play(steps)).status).toBe(`lender-gateway;${status}`)
  })
})
