import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { getFirstFieldValue } from '../../../src/core/exchange/header-fields.ts'
import { openCache } from './helper.ts'
import { byClient, fresh, noCache, openStale, openStored, readAll, readText, secondsLater, tagged } from './stage.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

// The attack: a client that provokes a rejection by the upstream every few seconds, for example by a long field, would
// keep a key out of the cache.
test.each([400, 401, 403, 407, 429, 431, 503])(
  'a %i that any client can cause, or the trouble of the upstream, says nothing of what is stored, nor of the key',
  async (status) => {
    const stage = await openStale(tagged)
    const rejected = stage.get()
    await stage.respond(1, [], 'rejected', status)

    const pending = [stage.get(), stage.get()]
    await stage.respond(2, tagged, '', 304)

    expect((await rejected).status).toBe(status)
    expect([await readAll(pending), stage.sent.length]).toEqual([['body', 'body'], 3])
  },
)

test.each([401, 407])('a %i to a client that asked past what is fresh leaves it to the next one', async (status) => {
  const stage = await openStored(fresh)
  const rejected = stage.get([...noCache, 'X-Bait', '../../etc/passwd'])
  await stage.respond(1, [], 'rejected', status)

  expect((await rejected).status).toBe(status)
  expect(readText(await stage.get())).toBe('body')
})

test.each([401, 403, 407])('a %i to the one client that a response was stored for removes it', async (status) => {
  const stage = openCache()
  const first = stage.handle(byClient('bank-a'))
  await stage.respond(0, ['Cache-Control', 'max-age=60, stale-while-revalidate=600'])
  await first
  secondsLater(61)
  const stale = await stage.handle(byClient('bank-a'))

  await stage.respond(1, [], 'withdrawn', status)
  const next = stage.handle(byClient('bank-a'))
  await stage.respond(2, [], 'withdrawn', status)

  expect([readText(stale), (await next).status, stage.partition.entries]).toEqual(['body', status, 0])
})

// The attack: a client with invented credentials would keep a key empty for all.
describe('a response that only the credentials of its request keep from being stored', () => {
  const modified = ['Last-Modified', 'Sun, 01 Nov 2020 00:00:00 GMT']
  const bearer = ['Authorization', 'x']

  test.each([
    ['Authorization', 200, tagged],
    ['Authorization', 304, tagged],
    ['Cookie', 200, modified],
    ['Cookie', 304, modified],
  ])('leaves what is stored for all: %s, %i', async (name, status, fields) => {
    const stage = await openStored(fields, { shared: true, heuristic: true })
    const own = stage.get([name, 'x', ...noCache])
    await stage.respond(1, fields, 'body', status)

    expect([await readAll([own, stage.get()]), stage.sent.length]).toEqual([['body', 'body'], 2])
  })

  // RFC 9111 §3.5: its fields may not serve other requests, so §4.3.4 has nothing to update, and the age goes on.
  test('makes nothing fresh again for others: a 304 to Authorization without `public`', async () => {
    const fields = ['Cache-Control', 'max-age=5', 'ETag', '"a"']
    const stage = await openStored(fields, { shared: true })
    secondsLater(20)
    const own = stage.get(bearer)
    await stage.respond(1, fields, '', 304)
    await own

    const next = stage.get()
    await stage.sent[2]?.fail(new GatewayError('reset-before-headers'))

    expect(getFirstFieldValue((await next).fields, 'age')).toBe('20')
  })

  // Where the upstream checks credentials, every request may have some, also the background request.
  test.each([
    [404, []],
    [200, [...fresh, 'Vary', '*']],
    [200, [...fresh, 'Set-Cookie', 'a=b']],
    [304, [...modified, 'Vary', '*']],
  ])('is not one that may not be stored without them: a %i with %j', async (status, fields) => {
    const stage = await openStale([...fresh, ...modified], { shared: true, staleWhileRevalidate: 600_000 })
    const stale = await stage.get(bearer)
    await stage.respond(1, fields, 'new', status)

    expect([readText(stale), stage.partition.entries]).toEqual(['body', 0])
  })

  test('removes what is stored for its client alone', async () => {
    const stage = openCache({ shared: true })
    const first = stage.handle(byClient('bank-a', bearer))
    await stage.respond(0, ['Cache-Control', 'public, max-age=60'])
    await first
    const before = stage.partition.entries

    const second = stage.handle(byClient('bank-a', [...bearer, ...noCache]))
    await stage.respond(1, fresh)
    await second

    expect([before, stage.partition.entries]).toEqual([1, 0])
  })
})
