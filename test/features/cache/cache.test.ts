import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { Client, createResponse, FedBody, getCacheStatus, openCache, settled } from './helper.ts'
import {
  askAtOnce,
  byClient,
  clientGone,
  createExchange,
  fresh,
  isEmpty,
  noCache,
  noStore,
  openStale,
  openStored,
  readAll,
  readText,
  secondsLater,
  storing,
  tagged,
} from './stage.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

describe('a stored response', () => {
  test.each(['body', ''])('serves the next request, without the upstream: %j', async (text) => {
    const stage = openCache()
    const first = stage.get()
    await stage.respond(0, fresh, text)
    await first
    const exchange = createExchange()

    const response = await stage.handle(exchange)

    const { status, body } = response
    expect([status, body.isShared, readText(response), stage.sent.length]).toEqual([200, true, text, 1])
    expect([exchange.outcome?.outcome, getCacheStatus(exchange)]).toEqual(['hit', 'lender-gateway;hit;ttl=60'])
  })

  // Age and freshness count from the arrival (RFC 9111 §4.2.3), and the wall clock is set by an operator or NTP.
  test.each([-2, 2])('is as old, and as fresh, when the wall clock is set by %d h', async (hours) => {
    const stage = await openStored(fresh)
    vi.setSystemTime(Date.now() + hours * 3_600_000)
    secondsLater(59)
    const hit = await stage.get()
    secondsLater(1)
    void stage.get()

    expect([hit.fields.slice(-2), stage.sent.length]).toEqual([['Age', '59'], 2])
  })

  test('is fetched by a request of the cache, with the identity and the attempts of the exchange that caused it', async () => {
    const stage = openCache()
    const [first, second] = [byClient('ann'), byClient('ann')]
    const pending = [stage.handle(first), stage.handle(second)]
    const sent = stage.sent[0]?.exchange as Exchange
    sent.attempts.count = 2
    await stage.respond(0, fresh)
    await Promise.all(pending)

    expect(sent).not.toBe(first)
    expect(sent.identity).toBe(first.identity)
    expect([first.attempts.count, second.attempts.count]).toEqual([2, 0])
    expect([first.outcome?.outcome, second.outcome?.outcome]).toEqual(['miss', 'collapsed'])
  })

  test('is for one client alone, whether it is fresh or stale, and by a condition as well', async () => {
    const stage = openCache()
    const first = stage.handle(byClient('a'))
    await stage.respond(0, ['Cache-Control', 'public, max-age=60, stale-if-error=600', 'ETag', '"a"'], 'of a')
    await first
    const asked = [byClient('b'), byClient('b', ['If-None-Match', '"a"'])].map((each) => stage.handle(each))
    const own = await stage.handle(byClient('a'))
    await stage.respond(1, [...noStore, 'ETag', '"b"'], 'of b')
    await stage.respond(2, [...noStore, 'ETag', '"b"'], 'of b')
    secondsLater(61)
    const late = expect(stage.handle(byClient('b'))).rejects.toMatchObject({ kind: 'connect-failed' })
    await stage.sent[3]?.fail(new GatewayError('connect-failed'))

    expect([readText(own), ...(await readAll(asked))]).toEqual(['of a', 'of b', 'of b'])
    await late
  })

  test.each([
    ['a body', { body: { ...fakeExchange().body, length: 3 } }, 'body'],
    ['a credential', { fields: ['X-Api-Key', 'x'] }, 'credentials'],
    ['a certificate', { peer: { trusted: false, inFlight: 1, certificate: () => ({}) as never } }, 'credentials'],
  ])('is bypassed with %s: the exchange itself is forwarded', async (_, opening, detail) => {
    const stage = await openStored(fresh)
    const exchange = fakeExchange(opening)
    void stage.handle(exchange)

    expect(stage.sent[1]?.exchange).toBe(exchange)
    expect(exchange.outcome?.outcome).toBe('bypass')
    expect(getCacheStatus(exchange)).toBe(`lender-gateway;fwd=bypass;detail=${detail}`)
  })

  test.each([
    ['forbidden', noStore, 'body', 'detail=no-store', 65_536],
    ['too long', [...fresh, 'Content-Length', '65536'], new FedBody(), 'detail=too-large', undefined],
    ['of a malformed length', [...fresh, 'Content-Length', 'x'], new FedBody(), 'detail=bad-length', undefined],
    [
      'the cache has no room for such a response',
      [...fresh, 'Content-Length', '60000'],
      new FedBody(),
      'detail=no-room',
      65_536,
    ],
    ['the cache has no room for such a response, and comes at once', fresh, 'x'.repeat(2000), 'ttl=60', 1024],
  ])('is none when the response is %s, and Cache-Status says so', async (_, fields, body, says, maxBytes) => {
    const stage = openCache({}, maxBytes)
    const exchange = createExchange()
    const pending = stage.handle(exchange)
    await stage.respond(0, fields, body)
    await pending

    expect(getCacheStatus(exchange)).toBe(`lender-gateway;fwd=uri-miss;${says}`)
  })

  test.each([
    ['whole', () => createResponse(tagged)],
    ['on its way', () => createResponse(tagged, new FedBody())],
    ['a 304', () => createResponse(tagged, '', 304)],
  ])('is none after a purge while it was fetched, which those who waited get all the same: %s', async (_, respond) => {
    const stage = await openStale(tagged)
    const { exchanges, pending } = askAtOnce(stage, 2)

    stage.store.purge({ operation: 'market.insights', client: null })
    const response = respond()
    await stage.sent[1]?.respond(response)
    await Promise.all(pending)
    void stage.get()

    const fwdStatus = response.status === 304 ? ';fwd-status=304' : ''
    expect(getCacheStatus(exchanges[0] as Exchange)).toBe(`lender-gateway;fwd=stale${fwdStatus};ttl=60`)
    expect([exchanges[1]?.outcome?.outcome, stage.store.size, stage.sent.length]).toEqual(['collapsed', 0, 3])
  })

  test('goes in a purge, after which no request waits for one from before', async () => {
    const stage = openCache()
    const pending = [stage.get()]

    stage.store.purge({ operation: 'market.insights', client: null })
    pending.push(stage.get())
    await stage.respond(0, fresh, 'before')
    await stage.respond(1, fresh, 'after')

    expect(await readAll([...pending, stage.get()])).toEqual(['before', 'after', 'after'])
  })

  test('is not waited for within five seconds of a response that could not be shared: the reason is repeated', async () => {
    const stage = await openStored(['Cache-Control', 'private'])
    const [soon, later] = [createExchange(), createExchange()]

    void stage.handle(soon)
    secondsLater(5)
    const pending = stage.handle(later)
    await stage.respond(2, noStore)
    await pending

    expect(getCacheStatus(soon)).toBe('lender-gateway;fwd=uri-miss;detail=private')
    expect(getCacheStatus(later)).toBe('lender-gateway;fwd=uri-miss;detail=no-store')
  })

  test('is not affected by the credentials of another client: a reason that only they gave is not repeated', async () => {
    const stage = openCache({ shared: true })
    await storing(stage, fresh, ['Authorization', 'Bearer x'])
    const exchange = createExchange()
    void stage.handle(exchange)
    await stage.respond(1, fresh)

    expect(getCacheStatus(exchange)).toBe('lender-gateway;fwd=uri-miss;stored;ttl=60')
  })
})

test('a Range of anything else is forwarded as it came, and waits for no fetch', () => {
  const stage = openCache()
  void stage.get()
  const exchange = createExchange(['Range', 'bytes=2-3'])
  void stage.handle(exchange)

  expect(stage.sent[1]?.exchange).toBe(exchange)
})

describe('whatever the policy throws', () => {
  test('the request is forwarded as if there were no cache', () => {
    const stage = openCache()
    const exchange = createExchange()
    vi.spyOn(exchange, 'fields', 'get').mockImplementationOnce(() => {
      throw new TypeError('planted')
    })

    void stage.handle(exchange)

    expect(stage.sent[0]?.exchange).toBe(exchange)
    expect(stage.errors).toHaveLength(1)
  })

  test('a response that cannot be judged goes to the one who began the fetch, and the others fetch', async () => {
    const stage = openCache()
    const pending = [stage.get(), stage.get()]
    const fields = new Proxy(fresh, {
      get(target, key) {
        if (key === 'length') throw new TypeError('planted')
        return Reflect.get(target, key)
      },
    })

    await stage.respond(0, fields, 'of the first')
    await stage.respond(1, fresh, 'of the second')

    expect(await readAll(pending)).toEqual(['of the first', 'of the second'])
    expect([stage.errors.length, stage.partition.entries]).toEqual([1, 0])
  })
})

describe('a response that was made earlier does not replace one that another fetch has stored meanwhile', () => {
  const noon = Date.UTC(2026, 10, 22, 12)
  const dated = (seconds: number, ...fields: string[]): string[] => [
    ...[...fresh, 'Date', new Date(noon + seconds * 1000).toUTCString()],
    ...fields,
  ]
  const first = dated(0, 'ETag', '"a"')

  beforeEach(() => void vi.setSystemTime(noon))

  test.each([
    ['where it comes at once', createResponse(dated(0), 'slow'), ['slow', 'fast', 'fast']],
    ['where it is a 304 for the response before', createResponse(first, '', 304), ['body', 'fast', 'fast']],
    ['and replaces one that was made no later', createResponse(dated(2), 'slow'), ['slow', 'fast', 'slow']],
  ])('%s', async (_, slow, texts) => {
    const stage = await openStored(first)
    const pending = [stage.get(noCache)]
    secondsLater(2)
    pending.push(stage.get(noCache))
    secondsLater(1)
    await stage.respond(2, dated(2), 'fast')
    secondsLater(1)
    await stage.sent[1]?.respond(slow)

    expect([...(await readAll(pending)), readText(await stage.get())]).toEqual(texts)
  })
})

test('nothing is left behind in the end', async () => {
  const stage = openCache({ maxEntry: 8 * 1024 })
  const ends: readonly ((nth: number, exchange: Exchange, body: FedBody) => unknown)[] = [
    (nth) => stage.sent[nth]?.fail(new GatewayError('connect-failed')),
    (_, exchange) => exchange.abort(clientGone()),
    (nth, _, body) => stage.respond(nth, [], body),
    (nth, _, body) => stage.respond(nth, fresh, body)?.then(() => body.fail(new GatewayError('truncated'))),
    (nth, exchange, body) => stage.respond(nth, fresh, body)?.then(() => exchange.abort(clientGone())),
    (nth, _, body) => stage.respond(nth, fresh, body)?.then(() => body.feed('x'.repeat(9000)).end()),
  ]

  for (const [i, end] of ends.entries()) {
    const exchange = createExchange([], `?${i}`)
    const pending = stage.handle(exchange).then(({ body }) => new Client(body))
    pending.catch(() => {})
    await end(i, exchange, new FedBody())
    await settled()
  }

  expect([stage.sent.length, isEmpty(stage), vi.getTimerCount()]).toEqual([ends.length, true, 0])
})
