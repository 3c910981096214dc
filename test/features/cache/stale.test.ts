import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { FedBody, getCacheStatus, openCache } from './helper.ts'
import {
  clientGone,
  createExchange,
  fresh,
  isEmpty,
  openStale,
  openStored,
  readAll,
  readText,
  secondsLater,
  tagged,
} from './stage.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

describe('in trouble', () => {
  const kinds = ['connect-failed', 'reset-before-headers', 'circuit-open', 'no-healthy-endpoint'] as const

  test.each(kinds)('%s: a stale response is served for a minute, to all who wait', async (kind) => {
    const stage = await openStored(fresh)
    secondsLater(119)
    const exchanges = [createExchange(), createExchange(), createExchange(['Range', 'bytes=0-1'])]

    const pending = exchanges.map((each) => stage.handle(each))
    for (const sent of stage.sent.slice(1)) await sent.fail(new GatewayError(kind))
    const texts = await readAll(pending)
    secondsLater(1)
    const late = expect(stage.get()).rejects.toMatchObject({ kind })
    await stage.sent.at(-1)?.fail(new GatewayError(kind))

    expect(texts).toEqual(['body', 'body', 'bo'])
    expect(exchanges.map(({ outcome }) => outcome?.outcome)).toEqual(['stale', 'stale', 'stale'])
    expect(getCacheStatus(exchanges[0] as Exchange)).toBe('lender-gateway;fwd=stale;ttl=-59')
    await late
  })

  test('the body of an error response that gives way to a stale one is discarded', async () => {
    const stage = await openStale(fresh, { staleIfError: 60_000 })
    const body = new FedBody().feed('trouble')
    const pending = stage.get()
    await stage.respond(1, fresh, body, 503)

    expect([readText(await pending), body.discarded]).toEqual(['body', true])
  })
})

describe('a stale response', () => {
  test('is validated, and served again when it is still good', async () => {
    const stage = await openStale(tagged)
    const [exchange, other] = [createExchange(), createExchange(['If-None-Match', '"a"'])]
    const pending = [stage.handle(exchange), stage.handle(other)]

    await stage.respond(1, tagged, '', 304)

    expect((await Promise.all(pending)).map(({ status }) => status)).toEqual([200, 304])
    expect([exchange.outcome?.outcome, other.outcome?.outcome]).toEqual(['revalidated', 'collapsed'])
    expect(getCacheStatus(exchange)).toBe('lender-gateway;fwd=stale;fwd-status=304;stored;ttl=60')
  })

  test('is fetched anew when the 304 is about something else', async () => {
    const stage = await openStale(tagged)
    const pending = stage.get()
    await stage.respond(1, [...fresh, 'ETag', '"other"'], '', 304)
    await stage.respond(2, fresh, 'new')

    expect([stage.sent[2]?.exchange.fields, readText(await pending)]).toEqual([[], 'new'])
  })

  describe('while it is revalidated', () => {
    const swr = ['Cache-Control', 'max-age=60, stale-while-revalidate=60', 'ETag', '"a"']

    test('is served at once, and fetched once, also when the client that caused it has left', async () => {
      const stage = await openStale(swr)
      const exchange = createExchange()

      const texts = await readAll([stage.handle(exchange), stage.get(), stage.get()])
      exchange.abort(clientGone())
      await stage.respond(1, swr, 'new')

      expect([...texts, readText(await stage.get())]).toEqual(['body', 'body', 'body', 'new'])
      expect([stage.sent.length, exchange.outcome?.outcome]).toEqual([2, 'stale'])
    })

    test('goes when the new response cannot be stored, which nobody reads', async () => {
      const stage = await openStale(swr)
      await stage.get()
      const body = new FedBody().feed('secret')
      await stage.respond(1, ['Cache-Control', 'private'], body)

      expect([body.discarded, stage.partition.entries]).toEqual([true, 0])
    })

    test('stays when that fails, which is logged, and is tried again', async () => {
      const stage = await openStale(swr)
      await stage.get()
      await stage.sent[1]?.fail(new GatewayError('connect-failed'))
      const again = await stage.get()

      expect(stage.revalidationErrors.map(({ kind }) => kind)).toEqual(['connect-failed'])
      expect([readText(again), stage.sent.length]).toEqual(['body', 3])
    })

    test('is so for a hundred keys at a time, and those that have ended make room for others', async () => {
      const stage = openCache()
      for (let i = 0; i < 110; i++) {
        void stage.get([], `?${i}`)
        await stage.respond(i, swr)
      }
      secondsLater(61)
      const askAll = () => Promise.all(Array.from({ length: 110 }, (_, i) => stage.get([], `?${i}`)))

      const responses = await askAll()
      const before = stage.sent.length
      for (let nth = 110; nth < 115; nth++) await stage.respond(nth, swr, '', 304)
      await askAll()

      expect(responses.every(({ status }) => status === 200)).toBe(true)
      expect([before, stage.sent.length]).toEqual([210, 215])
    })

    test('a body that grows too long is ended: it has no reader', async () => {
      const stage = await openStale(swr, { maxEntry: 8 * 1024 })
      await stage.get()
      const body = new FedBody()
      await stage.respond(1, fresh, body)

      body.feed('x'.repeat(5000))
      const early = stage.sent[1]?.exchange.aborted
      body.feed('x'.repeat(5000))

      expect([early, stage.sent[1]?.exchange.aborted?.kind, isEmpty(stage)]).toEqual([null, 'client-gone', true])
    })
  })
})

// The attack: the background response may not be stored, and would remove the stored one.
test('a client that wants nothing stored has nothing fetched in the background, and takes nothing away', async () => {
  const stage = await openStale(['Cache-Control', 'max-age=60, stale-while-revalidate=60'])
  const stale = await stage.get(['Cache-Control', 'no-store, only-if-cached'])

  expect([readText(stale), stage.sent.length]).toEqual(['body', 1])
})
