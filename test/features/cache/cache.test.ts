import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange, ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { getFirstFieldValue } from '../../../src/core/exchange/header-fields.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { Client, createResponse, FedBody, getCacheStatus, openCache, settled } from './helper.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const fresh = ['Cache-Control', 'max-age=60']
const tagged = [...fresh, 'ETag', '"a"']
const noCache = ['Cache-Control', 'no-cache']
const noStore = ['Cache-Control', 'no-store']

type Stage = ReturnType<typeof openCache>

const createExchange = (fields: string[] = [], query = ''): Exchange => fakeExchange({ fields, query })

const byClient = (client: string, fields: string[] = []): Exchange =>
  Object.assign(createExchange(fields), { identity: { client } })

const readText = (response: ProxyResponse): string => new Client(response.body).text
const readAll = async (pending: readonly Promise<ProxyResponse>[]): Promise<string[]> =>
  (await Promise.all(pending)).map(readText)

const times = <T>(count: number, create: () => T): T[] => Array.from({ length: count }, () => create())

const storing = async (stage: Stage, fields: readonly string[], asked: string[] = []): Promise<void> => {
  const pending = stage.get(asked)
  await stage.respond(stage.sent.length - 1, fields)
  new Client((await pending).body)
}

const askAtOnce = (stage: Stage, count: number) => {
  const exchanges = times(count, createExchange)
  return { exchanges, pending: exchanges.map((each) => stage.handle(each)) }
}

const secondsLater = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1000)

const openStored = async (fields: readonly string[], options?: Parameters<typeof openCache>[0]): Promise<Stage> => {
  const stage = openCache(options)
  await storing(stage, fields)
  return stage
}

/** Opens a cache in which a response is stored that was fresh for a minute, a second ago. */
const openStale = async (...given: Parameters<typeof openStored>): Promise<Stage> => {
  const stage = await openStored(...given)
  secondsLater(61)
  return stage
}

/** Opens a cache through which a body is on its way to clients; the slow ones read only what comes at once. */
const openStreaming = async (isSlow: readonly boolean[], fields = fresh, options?: Parameters<typeof openCache>[0]) => {
  const stage = openCache(options)
  const body = new FedBody().feed('begun ')
  const { exchanges, pending } = askAtOnce(stage, isSlow.length)
  await stage.respond(0, fields, body)
  const clients = (await Promise.all(pending)).map((response, i) => new Client(response.body, isSlow[i]))
  return { ...stage, body, exchanges, clients, stage }
}

const isEmpty = ({ partition, store }: Stage): boolean => partition.entries === 0 && store.bytes === 0

const clientGone = (): GatewayError => new GatewayError('client-gone')

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

describe('simultaneous requests for the same', () => {
  test('make one upstream request of a hundred, and each gets all of the response', async () => {
    const stage = openCache()
    const pending = times(100, () => stage.get())
    await stage.respond(0, fresh)

    expect(await readAll(pending)).toEqual(Array(100).fill('body'))
    expect(stage.sent).toHaveLength(1)
    expect(stage.partition.tally.counts).toMatchObject({ miss: 1, collapsed: 99 })
  })

  test('are not harmed by a client that leaves, not even by the first', async () => {
    const stage = openCache()
    const { exchanges, pending } = askAtOnce(stage, 3)
    const left = pending.slice(0, 2).map((each) => expect(each).rejects.toMatchObject({ kind: 'client-gone' }))

    for (const each of exchanges.slice(0, 2)) each.abort(clientGone())
    await stage.respond(0, fresh)

    await Promise.all(left)
    expect(readText((await pending[2]) as ProxyResponse)).toBe('body')
    expect([stage.sent.length, stage.sent[0]?.exchange.aborted]).toEqual([1, null])
  })

  test('end the upstream request when the last of them has left, and the next begins another', async () => {
    const stage = openCache()
    const { exchanges, pending } = askAtOnce(stage, 2)
    for (const each of pending) each.catch(() => {})

    exchanges[0]?.abort(clientGone())
    const early = stage.sent[0]?.exchange.aborted
    exchanges[1]?.abort(clientGone())
    void stage.get()

    expect([early, stage.sent[0]?.exchange.aborted?.kind, stage.sent.length]).toEqual([null, 'client-gone', 2])
  })

  test('get the same failure', async () => {
    const stage = openCache()
    const rejections = times(5, () => expect(stage.get()).rejects.toMatchObject({ kind: 'headers-timeout' }))
    await stage.sent[0]?.fail(new GatewayError('headers-timeout'))

    await Promise.all(rejections)
    expect(stage.sent).toHaveLength(1)
  })

  test.each([
    ['says no-store', noStore],
    ['varies by all', [...fresh, 'Vary', '*']],
    ['says nothing', []],
    ['must be validated each time', [...noCache, 'ETag', '"a"']],
  ])('go on at once and each for itself when the response %s', async (_, fields) => {
    const stage = openCache()
    const { exchanges, pending } = askAtOnce(stage, 5)

    await stage.respond(0, fields, 'of the first')
    const inParallel = stage.sent.slice(1).map(({ exchange }) => exchange)
    for (const nth of [1, 2, 3, 4]) await stage.respond(nth, fields, 'of another')

    expect(inParallel).toEqual(exchanges.slice(1))
    expect(await readAll(pending)).toEqual(['of the first', ...Array(4).fill('of another')])
    void stage.get()
    void stage.get()
    expect(stage.sent).toHaveLength(7) // for a while no request waits for this key
  })

  test('leave nothing unread when the client has left whose response it was', async () => {
    const stage = openCache()
    const { exchanges, pending } = askAtOnce(stage, 2)
    pending[0]?.catch(() => {})
    const body = new FedBody().feed('of the first')

    exchanges[0]?.abort(clientGone())
    await stage.respond(0, [], body)

    expect(body.discarded).toBe(true)
    expect(stage.sent[1]?.exchange).toBe(exchanges[1])
  })

  test('find each other by variant, as soon as it is known what varies', async () => {
    const stage = openCache()
    const ask = (language: string): Promise<ProxyResponse> => stage.get(['Accept-Language', language])
    const pending = ['de', 'de', 'fr', 'fr', 'fr'].map(ask)
    const varying = [...fresh, 'Vary', 'Accept-Language']

    await stage.respond(0, varying, 'deutsch')
    await stage.respond(1, varying, 'français')

    expect(await readAll(pending)).toEqual(['deutsch', 'deutsch', 'français', 'français', 'français'])
    expect([await readAll([ask('fr'), ask('de')]), stage.sent.length]).toEqual([['français', 'deutsch'], 2])
  })

  test('do not wait where each has to ask the upstream itself', async () => {
    const fields = [...noCache, 'ETag', '"a"']
    const stage = await openStored(fields)
    const pending = [stage.get(), stage.get()]
    expect(stage.sent.slice(1).map(({ exchange }) => exchange.fields)).toEqual(Array(2).fill(['If-None-Match', '"a"']))
    for (const nth of [1, 2]) await stage.respond(nth, fields, '', 304)

    expect(await readAll(pending)).toEqual(['body', 'body'])
  })

  test('are forwarded when there are too many variants at once', () => {
    const stage = openCache()
    const exchanges = times(40, () => createExchange(noCache))
    for (const each of exchanges) void stage.handle(each)

    const own = stage.sent.filter(({ exchange }) => exchanges.includes(exchange))
    expect([stage.sent.length, own.length]).toEqual([40, 8])
  })

  test('relay an interim response to the one who began the fetch', () => {
    const stage = openCache()
    const interims: number[] = []
    const first = fakeExchange({ onInterim: (status) => void interims.push(status) })
    stage.handle(first).catch(() => {})
    void stage.handle(fakeExchange({ onInterim: () => void interims.push(0) }))

    stage.sent[0]?.exchange.onInterim?.(103, [])
    first.abort(clientGone())
    stage.sent[0]?.exchange.onInterim?.(103, [])

    expect(interims).toEqual([103])
  })
})

describe('while it streams', () => {
  test('each reads at its own pace, and no client waits for the store', async () => {
    const { body, clients, ...stage } = await openStreaming([false, true])
    const [fast, slow] = clients

    body.feed('two ')
    const meanwhile = [fast?.text, slow?.text]
    const late = new Client((await stage.get()).body)
    const joined = late.text
    body.feed('three').end()
    const beforeIt = [fast?.ended, slow?.ended]
    slow?.catchUp()

    expect(meanwhile).toEqual(['begun two ', 'begun '])
    expect([joined, body.paused, beforeIt]).toEqual(['begun two ', false, [true, false]])
    const texts = [...clients, late, new Client((await stage.get()).body)].map((each) => each.text)
    expect(texts).toEqual(Array(4).fill('begun two three'))
    expect(stage.sent).toHaveLength(1)
  })

  test('a body that the upstream breaks off is errors off for all, and not stored', async () => {
    const { body, clients, stage } = await openStreaming([false, false])
    body.fail(new GatewayError('truncated'))

    expect(clients.map(({ failure }) => failure?.kind)).toEqual(['truncated', 'truncated'])
    expect(isEmpty(stage)).toBe(true)
    void stage.get()
    expect(stage.sent).toHaveLength(2)
  })

  test.each([
    ['less', '20', 'short'],
    ['more', '3', 'longer'],
  ])('a body that is %s than declared is relayed as it came, and not stored', async (_, length, text) => {
    const { body, clients, stage } = await openStreaming([false], [...fresh, 'Content-Length', length])
    body.feed(text).end()

    expect([clients[0]?.text, clients[0]?.ended, isEmpty(stage)]).toEqual([`begun ${text}`, true, true])
  })

  test('it goes on for those who stay, and ends when the last has left', async () => {
    const { exchanges, sent, stage } = await openStreaming([false, false])
    exchanges[0]?.abort(clientGone())
    const early = sent[0]?.exchange.aborted
    exchanges[1]?.abort(clientGone())

    expect([early, sent[0]?.exchange.aborted?.kind, isEmpty(stage)]).toEqual([null, 'client-gone', true])
  })

  test('it goes on for the store when the client needs none of it, but not for ever', async () => {
    const bodies = [new FedBody(), new FedBody()]
    const stage = openCache()
    for (const [i, body] of bodies.entries()) {
      const pending = stage.get(['If-None-Match', '"a"'], `?${i}`)
      await stage.respond(i, tagged, body)
      await pending
    }

    secondsLater(29)
    bodies[0]?.feed('body').end()
    const before = stage.sent[1]?.exchange.aborted
    secondsLater(1)

    expect(readText(await stage.get([], '?0'))).toBe('body')
    expect([before, stage.sent[1]?.exchange.aborted?.kind]).toEqual([null, 'client-gone'])
  })

  test('a body that grows too long is relayed to all who read it, at the pace of the slowest', async () => {
    const { body, clients, stage } = await openStreaming([false, true], fresh, { maxEntry: 8 * 1024 })

    for (let i = 0; i < 60; i++) body.feed('y'.repeat(5000))
    const waiting = body.paused
    clients[1]?.catchUp()
    const went = body.paused
    body.end()

    expect([waiting, went, isEmpty(stage)]).toEqual([true, false, true])
    const whole = { text: expect.toSatisfy(({ length }: string) => length === 300_006), ended: true }
    expect(clients).toMatchObject([whole, whole])
    void stage.get()
    void stage.get()
    expect(stage.sent).toHaveLength(3)
  })

  // The attack: a 304 at its head frees the client's place in flight while its fetch holds a connection.
  test('it goes on without a client for fifty at a time, and what is stale is fetched anew beside them', async () => {
    const stage = await openStale(tagged, { staleWhileRevalidate: 600_000 })
    const bodies: FedBody[] = []
    const ask = async (): Promise<string | undefined> => {
      const body = new FedBody()
      const exchange = createExchange(['If-None-Match', '*'], `?${bodies.push(body)}`)
      const pending = stage.handle(exchange)
      await stage.respond(stage.sent.length - 1, tagged, body)
      expect((await pending).status).toBe(304)
      return getCacheStatus(exchange)
    }
    const countGone = (): number => stage.sent.filter(({ exchange }) => exchange.aborted !== null).length

    const statuses: (string | undefined)[] = []
    for (let i = 0; i < 110; i++) statuses.push(await ask())
    const gone = countGone()
    bodies[0]?.end()
    await ask()
    await stage.get()

    expect([gone, countGone(), stage.sent.at(-1)?.exchange.query]).toEqual([60, 60, ''])
    const ended = 'lender-gateway;fwd=uri-miss;fwd-status=200;ttl=60'
    expect(statuses.slice(49, 51)).toEqual([ended.replace('ttl', 'stored;ttl'), ended])
  })

  // The attack: many clients read slowly a body that grows too long. Each would hold as much as an entry may have.
  test.each([
    ['grows too long', [], [5000, 5000]],
    ['is longer than declared', ['Content-Length', '5000'], [5000, 5000]],
    ['is shorter than declared', ['Content-Length', '7000'], [4000, 2000]],
  ])('a body that %s counts until its slowest reader has it', async (_, length, sizes) => {
    const options = { maxEntry: 8 * 1024 }
    const { body, exchanges, clients, store } = await openStreaming([true, true], [...fresh, ...length], options)
    const [slow] = clients
    const chunks = sizes.map((size, i) => `${i}`.repeat(size))

    body.feed(...chunks).end()
    const waiting = store.bytes
    exchanges[1]?.abort(clientGone())
    const stillWaiting = store.bytes
    slow?.catchUp()

    expect([waiting, stillWaiting].map((bytes) => bytes >= 5000)).toEqual([true, true])
    expect([slow?.text, slow?.ended, store.bytes]).toEqual([`begun ${chunks.join('')}`, true, 0])
  })

  test('a body that declares to be too long is for one client alone', async () => {
    const stage = openCache({ maxEntry: 8 * 1024 })
    const body = new FedBody()
    const { exchanges, pending } = askAtOnce(stage, 2)
    await stage.respond(0, [...fresh, 'Content-Length', '9000'], body)

    expect((await pending[0])?.body).toBe(body)
    expect(stage.sent[1]?.exchange).toBe(exchanges[1])
  })

  test('bodies on their way take no more room than there is', async () => {
    const stage = openCache({ maxEntry: 64 * 1024 }, 100 * 1024)
    const lengths = [30_000, 30_000, 10_000]
    const bodies = lengths.map(() => new FedBody())
    const pending = lengths.map((_, i) => stage.get([], `?${i}`))
    for (const [i, length] of lengths.entries())
      await stage.respond(i, [...fresh, 'Content-Length', String(length)], bodies[i])

    const responses = await Promise.all(pending)

    expect(responses.map(({ body }, i) => body === bodies[i])).toEqual([false, true, false])
    expect(stage.store.bytes).toBeLessThanOrEqual(50 * 1024)
  })

  test('a body in the smallest chunks takes no more than a body', async () => {
    const { body, clients, store, partition } = await openStreaming([false])

    for (let i = 0; i < 20_000; i++) body.feed('x')
    const onItsWay = store.bytes
    body.end()

    expect(clients[0]?.text.length).toBe(20_006)
    expect(onItsWay).toBeLessThan(40_000)
    expect(partition.bytes).toBeLessThan(22_000)
  })
})

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

test('a response for one client alone ends with that client', async () => {
  const { exchanges, sent } = await openStreaming([false], noStore)
  exchanges[0]?.abort(clientGone())

  expect(sent[0]?.exchange.aborted?.kind).toBe('client-gone')
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

test('a response that is complete at once is held to the length of an entry as well', async () => {
  const stage = openCache({ maxEntry: 2048 })
  const pending = [stage.get(), stage.get()]
  await stage.respond(0, fresh, 'x'.repeat(2000))
  await stage.respond(1, [], 'of the second')

  expect((await readAll(pending)).map(({ length }) => length)).toEqual([2000, 13])
  expect(stage.partition.entries).toBe(0)
})

test('a 304 that forbids storing is only for the exchange that sent the request', async () => {
  const stage = await openStored(tagged)
  secondsLater(1)
  const pending = [stage.get(['Cache-Control', 'max-age=0'])]
  stage.store.setMaxBytes(0) // evicts what is stored
  stage.store.setMaxBytes(1024 * 1024)
  pending.push(stage.get())

  await stage.respond(1, ['Cache-Control', 'private', 'ETag', '"a"'], '', 304)
  await stage.respond(2, [], 'of the follower')

  expect(await readAll(pending)).toEqual(['body', 'of the follower'])
})

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

// The attack: the background response may not be stored, and would remove the stored one.
test('a client that wants nothing stored has nothing fetched in the background, and takes nothing away', async () => {
  const stage = await openStale(['Cache-Control', 'max-age=60, stale-while-revalidate=60'])
  const stale = await stage.get(['Cache-Control', 'no-store, only-if-cached'])

  expect([readText(stale), stage.sent.length]).toEqual(['body', 1])
})

// The attack: a client's field makes the upstream silent. All requests for the same key would wait.
test('a request that comes when a fetch has been waited for too long fetches anew, and those after it wait for that', async () => {
  const stage = openCache()
  const hung = stage.get(['X-Hang', 'yes'])
  secondsLater(5)

  const pending = [stage.get(), stage.get()]
  await stage.respond(1, fresh, 'at once')

  expect(await readAll([...pending, stage.get()])).toEqual(['at once', 'at once', 'at once'])
  expect(stage.sent).toHaveLength(2)
  await stage.respond(0, [], 'late')
  expect(readText(await hung)).toBe('late')
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
