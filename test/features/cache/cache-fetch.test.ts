import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange, ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { getFirstFieldValue } from '../../../src/core/exchange/header-fields.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { Client, createResponse, FedBody, openCache } from './helper.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const createExchange = (fields: string[] = [], query = ''): Exchange => fakeExchange({ fields, query })

const readText = (response: ProxyResponse): string => new Client(response.body).text

const storing = async (stage: ReturnType<typeof openCache>, fields: readonly string[]): Promise<void> => {
  const pending = stage.handle(createExchange())
  await stage.sent.at(-1)?.respond(createResponse(fields))
  new Client((await pending).body)
}

const seconds = 1000

test('a response for one client alone ends with that client', async () => {
  const stage = openCache()
  const exchange = createExchange()
  const pending = stage.handle(exchange)
  await stage.sent[0]?.respond(createResponse(['Cache-Control', 'no-store'], new FedBody().feed('begun')))
  new Client((await pending).body)

  exchange.abort(new GatewayError('client-gone'))

  expect(stage.sent[0]?.exchange.aborted?.kind).toBe('client-gone')
})

test('a response that must be validated each time is not given to those who waited for it', async () => {
  const stage = openCache()
  const [first, second] = [createExchange(), createExchange()]
  const pending = [stage.handle(first), stage.handle(second)]

  await stage.sent[0]?.respond(createResponse(['Cache-Control', 'no-cache', 'ETag', '"a"'], 'of the first'))
  await stage.sent[1]?.respond(createResponse([], 'of the second'))

  expect(stage.sent[1]?.exchange).toBe(second)
  expect((await Promise.all(pending)).map(readText)).toEqual(['of the first', 'of the second'])
})

test('exchanges that fetched the same side by side leave one entry', async () => {
  const stage = openCache()
  const pending = [
    stage.handle(createExchange(['Cache-Control', 'no-cache'])),
    stage.handle(createExchange(['Cache-Control', 'no-cache'])),
  ]

  for (const [i, sent] of stage.sent.entries())
    await sent.respond(createResponse(['Cache-Control', 'max-age=60'], String(i)))
  await Promise.all(pending)

  expect([stage.sent.length, stage.partition.entries]).toEqual([2, 1])
  expect(readText(await stage.handle(createExchange()))).toBe('1')
})

describe('a response that was made earlier does not replace one that another fetch has stored meanwhile', () => {
  const dated = (seconds: number, ...fields: string[]) => [
    ...['Cache-Control', 'max-age=60', 'Date', new Date(Date.UTC(2026, 10, 22, 12, 0, seconds)).toUTCString()],
    ...fields,
  ]

  /** Has a slow fetch answered after a fast one that begins later, and returns what is served then. */
  const overtake = async (stage: ReturnType<typeof openCache>, slow: ProxyResponse, fast: ProxyResponse) => {
    const n = stage.sent.length
    const slowly = stage.handle(createExchange(['Cache-Control', 'no-cache']))
    vi.advanceTimersByTime(2 * seconds)
    const fastly = stage.handle(createExchange(['Cache-Control', 'no-cache']))
    vi.advanceTimersByTime(seconds)
    await stage.sent[n + 1]?.respond(fast)
    vi.advanceTimersByTime(seconds)
    await stage.sent[n]?.respond(slow)
    const got = [readText(await slowly), readText(await fastly)]
    return [...got, readText(await stage.handle(createExchange()))]
  }

  beforeEach(() => void vi.setSystemTime(Date.UTC(2026, 10, 22, 12)))

  test('where it comes at once', async () => {
    const responses = [createResponse(dated(0), 'earlier'), createResponse(dated(2), 'later')] as const

    expect(await overtake(openCache(), ...responses)).toEqual(['earlier', 'later', 'later'])
  })

  test('where it is a 304 for the response before', async () => {
    const stage = openCache()
    await storing(stage, dated(0, 'ETag', '"a"'))
    const notModified = createResponse(dated(0, 'ETag', '"a"'), '', 304)

    expect(await overtake(stage, notModified, createResponse(dated(2), 'later'))).toEqual(['body', 'later', 'later'])
  })

  test('and replaces one that was made no later', async () => {
    const responses = [createResponse(dated(2), 'slow'), createResponse(dated(2), 'fast')] as const

    expect(await overtake(openCache(), ...responses)).toEqual(['slow', 'fast', 'slow'])
  })
})

test('a response that is complete at once is held to the length of an entry as well', async () => {
  const stage = openCache({ maxEntry: 2048 })
  const pending = [stage.handle(createExchange()), stage.handle(createExchange())]

  await stage.sent[0]?.respond(createResponse(['Cache-Control', 'max-age=60'], 'x'.repeat(2000)))
  await stage.sent[1]?.respond(createResponse([], 'of the second'))

  expect((await Promise.all(pending)).map((response) => readText(response).length)).toEqual([2000, 13])
  expect(stage.partition.entries).toBe(0)
})

test('a 304 that says no-store is served once more, and the stored response goes', async () => {
  const stage = openCache()
  await storing(stage, ['Cache-Control', 'max-age=60', 'ETag', '"a"'])
  vi.advanceTimersByTime(61 * seconds)

  const pending = stage.handle(createExchange())
  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'no-store', 'ETag', '"a"'], '', 304))

  expect([readText(await pending), stage.partition.entries]).toEqual(['body', 0])
})

test('a 304 that forbids storing is only for the exchange that sent the request', async () => {
  const stage = openCache()
  await storing(stage, ['Cache-Control', 'max-age=60', 'ETag', '"a"'])
  vi.advanceTimersByTime(1 * seconds)
  const pending = stage.handle(createExchange(['Cache-Control', 'max-age=0']))
  stage.store.setMaxBytes(0) // evicts what is stored
  stage.store.setMaxBytes(1024 * 1024)
  const follower = stage.handle(createExchange())

  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'private', 'ETag', '"a"'], '', 304))
  await stage.sent[2]?.respond(createResponse([], 'of the follower'))

  expect([readText(await pending), readText(await follower)]).toEqual(['body', 'of the follower'])
})

// The attack: a client that provokes a rejection by the upstream every few seconds, for example by a field that is too
// long, would keep a key out of the cache.
test.each([400, 401, 403, 407, 429, 431])(
  'a %i that any client can cause says nothing of what is stored, nor of the key',
  async (status) => {
    const stage = openCache()
    await storing(stage, ['Cache-Control', 'max-age=60', 'ETag', '"a"'])
    vi.advanceTimersByTime(61 * seconds)
    const rejected = stage.handle(createExchange())
    await stage.sent[1]?.respond(createResponse([], 'rejected', status))

    const pending = [stage.handle(createExchange()), stage.handle(createExchange())]
    await stage.sent[2]?.respond(createResponse(['Cache-Control', 'max-age=60', 'ETag', '"a"'], '', 304))

    expect((await rejected).status).toBe(status)
    expect((await Promise.all(pending)).map(readText)).toEqual(['body', 'body'])
    expect(stage.sent).toHaveLength(3)
  },
)

test.each([401, 403, 407])(
  'a %i to a client that asked past what is fresh leaves it to the next one',
  async (status) => {
    const stage = openCache()
    await storing(stage, ['Cache-Control', 'max-age=60'])
    const rejected = stage.handle(createExchange(['Cache-Control', 'no-cache', 'X-Bait', '../../etc/passwd']))
    await stage.sent[1]?.respond(createResponse([], 'rejected', status))
    const next = createExchange()

    const pending = stage.handle(next)
    await stage.sent[2]?.respond(createResponse([], 'fetched anew'))

    expect((await rejected).status).toBe(status)
    expect([readText(await pending), next.outcome?.outcome]).toEqual(['body', 'hit'])
  },
)

test.each([401, 403, 407])('a %i to the one client that a response was stored for removes it', async (status) => {
  const stage = openCache()
  const exchange = (): Exchange => Object.assign(createExchange(), { identity: { client: 'bank-a' } })
  const first = stage.handle(exchange())
  await stage.sent[0]?.respond(createResponse(['Cache-Control', 'max-age=60, stale-while-revalidate=600'], 'body'))
  await first
  vi.advanceTimersByTime(61 * seconds)
  const stale = await stage.handle(exchange())

  await stage.sent[1]?.respond(createResponse([], 'withdrawn', status))
  const next = stage.handle(exchange())
  await stage.sent[2]?.respond(createResponse([], 'withdrawn', status))

  expect([readText(stale), (await next).status, stage.partition.entries]).toEqual(['body', status, 0])
})

// The attack: a client that sends credentials of its own making would keep a key empty for all.
describe('a response that only the credentials of its request keep from being stored', () => {
  const fresh = ['Cache-Control', 'max-age=60', 'ETag', '"a"']
  const modified = ['Last-Modified', 'Sun, 01 Nov 2020 00:00:00 GMT']

  test.each([
    ['Authorization', 200, fresh],
    ['Authorization', 304, fresh],
    ['Cookie', 200, modified],
    ['Cookie', 304, modified],
  ])('leaves what is stored for all: %s, %i', async (name, status, fields) => {
    const stage = openCache({ shared: true, heuristic: true })
    await storing(stage, fields)
    const own = stage.handle(createExchange([name, 'x', 'Cache-Control', 'no-cache']))
    await stage.sent[1]?.respond(createResponse(fields, 'body', status))
    const next = createExchange()

    const pending = stage.handle(next)
    await stage.sent[2]?.respond(createResponse([], 'fetched anew'))

    expect([readText(await own), readText(await pending), next.outcome?.outcome]).toEqual(['body', 'body', 'hit'])
  })

  // RFC 9111 §3.5: its fields may not serve other requests, so §4.3.4 has nothing to update, and the age goes on.
  test('makes nothing fresh again for others: a 304 to Authorization without `public`', async () => {
    const stage = openCache({ shared: true })
    await storing(stage, ['Cache-Control', 'max-age=5', 'ETag', '"a"'])
    vi.advanceTimersByTime(20 * seconds)
    const own = stage.handle(createExchange(['Authorization', 'x']))
    await stage.sent[1]?.respond(createResponse(['Cache-Control', 'max-age=5', 'ETag', '"a"'], '', 304))
    await own

    const next = stage.handle(createExchange())
    await stage.sent[2]?.fail(new GatewayError('reset-before-headers'))

    expect(getFirstFieldValue((await next).fields, 'age')).toBe('20')
  })

  // Where the upstream checks the credentials, every request may have some, and so may the one in the background.
  test.each([
    [404, []],
    [200, ['Cache-Control', 'max-age=60', 'Vary', '*']],
    [200, ['Cache-Control', 'max-age=60', 'Set-Cookie', 'a=b']],
    [304, [...modified, 'Vary', '*']],
  ])('is not one that may not be stored without them: a %i with %j', async (status, fields) => {
    const stage = openCache({ shared: true, staleWhileRevalidate: 600 * seconds })
    await storing(stage, ['Cache-Control', 'max-age=60', ...modified])
    vi.advanceTimersByTime(61 * seconds)
    const stale = await stage.handle(createExchange(['Authorization', 'x']))

    await stage.sent[1]?.respond(createResponse(fields, 'new', status))

    expect([readText(stale), stage.partition.entries]).toEqual(['body', 0])
  })

  test('removes what is stored for its client alone', async () => {
    const stage = openCache({ shared: true })
    const ask = (...fields: string[]): Promise<ProxyResponse> =>
      stage.handle(Object.assign(createExchange(['Authorization', 'x', ...fields]), { identity: { client: 'bank-a' } }))
    const first = ask()
    await stage.sent[0]?.respond(createResponse(['Cache-Control', 'public, max-age=60']))
    await first
    const before = stage.partition.entries

    const second = ask('Cache-Control', 'no-cache')
    await stage.sent[1]?.respond(createResponse(['Cache-Control', 'max-age=60']))
    await second

    expect([before, stage.partition.entries]).toEqual([1, 0])
  })
})

// The attack: the response in the background may not be stored, and would take the stored one with it.
test('a client that wants nothing stored has nothing fetched in the background, and takes nothing away', async () => {
  const stage = openCache()
  await storing(stage, ['Cache-Control', 'max-age=60, stale-while-revalidate=60'])
  vi.advanceTimersByTime(61 * seconds)

  const stale = await stage.handle(createExchange(['Cache-Control', 'no-store, only-if-cached']))

  expect([readText(stale), stage.sent.length]).toEqual(['body', 1])
})

test('an upstream in trouble says nothing of what is stored, nor of the key', async () => {
  const stage = openCache()
  await storing(stage, ['Cache-Control', 'max-age=60, must-revalidate', 'ETag', '"a"'])
  vi.advanceTimersByTime(61 * seconds)
  const failed = stage.handle(createExchange())
  await stage.sent[1]?.respond(createResponse([], 'trouble', 503))

  const pending = [stage.handle(createExchange()), stage.handle(createExchange())]
  await stage.sent[2]?.respond(createResponse(['Cache-Control', 'max-age=60', 'ETag', '"a"'], '', 304))

  expect((await failed).status).toBe(503)
  expect((await Promise.all(pending)).map(readText)).toEqual(['body', 'body'])
  expect(stage.sent).toHaveLength(3)
})

test('the upstream request carries the identity of the client whose response it is', () => {
  const stage = openCache()
  const exchange = createExchange()
  exchange.identity = { client: 'ann', method: 'apiKey', keyId: null }

  void stage.handle(exchange)

  expect(stage.sent[0]?.exchange).not.toBe(exchange)
  expect(stage.sent[0]?.exchange.identity).toBe(exchange.identity)
})

test('a revalidation that grows too long is ended: it has no reader', async () => {
  const stage = openCache({ maxEntry: 8 * 1024, staleWhileRevalidate: 60 * seconds })
  await storing(stage, ['Cache-Control', 'max-age=60'])
  vi.advanceTimersByTime(61 * seconds)
  await stage.handle(createExchange())
  const body = new FedBody()
  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'max-age=60'], body))

  body.feed('x'.repeat(5000))
  const early = stage.sent[1]?.exchange.aborted
  body.feed('x'.repeat(5000))

  expect([early, stage.sent[1]?.exchange.aborted?.kind]).toEqual([null, 'client-gone'])
  expect([stage.partition.entries, stage.store.bytes]).toEqual([0, 0])
})

test('a revalidation that is shorter than declared leaves nothing behind', async () => {
  const stage = openCache({ staleWhileRevalidate: 60 * seconds })
  await storing(stage, ['Cache-Control', 'max-age=60'])
  vi.advanceTimersByTime(61 * seconds)
  await stage.handle(createExchange())
  const body = new FedBody()
  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'max-age=60', 'Content-Length', '5000'], body))

  body.feed('short').end()

  expect([stage.partition.entries, stage.store.bytes]).toEqual([0, 0])
})

test('revalidations that have ended make room for others', async () => {
  const stage = openCache({ staleWhileRevalidate: 3600 * seconds })
  await storing(stage, ['Cache-Control', 'max-age=1', 'ETag', '"a"'])

  for (let i = 1; i <= 110; i++) {
    vi.advanceTimersByTime(2 * seconds)
    await stage.handle(createExchange())
    await stage.sent[i]?.respond(createResponse(['Cache-Control', 'max-age=1', 'ETag', '"a"'], '', 304))
  }

  expect(stage.sent).toHaveLength(111)
})

// The attack: send a field that makes the upstream never respond. Every request for the same would wait with it.
test('a request that comes when a fetch has been waited for too long fetches anew, and those after it wait for that', async () => {
  const stage = openCache()
  const hung = stage.handle(createExchange(['X-Hang', 'yes']))
  vi.advanceTimersByTime(5 * seconds)

  const pending = [stage.handle(createExchange()), stage.handle(createExchange())]
  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'max-age=60'], 'at once'))
  const after = stage.handle(createExchange())

  expect((await Promise.all([...pending, after])).map(readText)).toEqual(['at once', 'at once', 'at once'])
  expect(stage.sent).toHaveLength(2)
  await stage.sent[0]?.respond(createResponse([], 'late'))
  expect(readText(await hung)).toBe('late')
})
