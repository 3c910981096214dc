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

const createExchange = (fields: string[] = [], query = ''): Exchange => fakeExchange({ fields, query })

const readText = (response: ProxyResponse): string => new Client(response.body).text

/** Stores a response for a request, and reads it. */
const storing = async (
  stage: ReturnType<typeof openCache>,
  response: ProxyResponse,
  fields: string[] = [],
): Promise<void> => {
  const pending = stage.handle(createExchange(fields))
  await stage.sent.at(-1)?.respond(response)
  new Client((await pending).body)
}

const secondsLater = (seconds: number): void => void vi.advanceTimersByTime(seconds * 1000)

/** Opens a cache in which a response is stored that was fresh for a minute, a second ago. */
const openStale = async (fields: readonly string[], options?: Parameters<typeof openCache>[0]) => {
  const stage = openCache(options)
  await storing(stage, createResponse(fields))
  secondsLater(61)
  return stage
}

const clientGone = (): GatewayError => new GatewayError('client-gone')

describe('a stored response', () => {
  test('serves the next request, without the upstream', async () => {
    const stage = openCache()
    await storing(stage, createResponse(fresh))
    const exchange = createExchange()

    const response = await stage.handle(exchange)

    expect([response.status, readText(response), stage.sent.length]).toEqual([200, 'body', 1])
    expect([exchange.outcome?.outcome, getCacheStatus(exchange)]).toEqual(['hit', 'lender-gateway;hit;ttl=60'])
    expect(response.body.isShared).toBe(true)
  })

  // Age and freshness count from the arrival (RFC 9111 §4.2.3), and the wall clock is set by an operator or NTP.
  test.each([-2, 2])('is as old, and as fresh, when the wall clock is set by %d h', async (hours) => {
    const stage = openCache()
    await storing(stage, createResponse(fresh))
    const exchange = createExchange()

    vi.setSystemTime(Date.now() + hours * 3_600_000)
    secondsLater(59)
    const hit = await stage.handle(exchange)
    secondsLater(1)
    void stage.handle(createExchange())

    expect(getCacheStatus(exchange)).toBe('lender-gateway;hit;ttl=1')
    expect(hit.fields.slice(-2)).toEqual(['Age', '59'])
    expect(stage.sent).toHaveLength(2)
  })

  test('is fetched without the condition of the client, which is applied to the result', async () => {
    const stage = openCache()
    const exchange = createExchange(['If-None-Match', '"a"'])
    const pending = stage.handle(exchange)
    await stage.sent[0]?.respond(createResponse(tagged))

    const [first, later] = [await pending, await stage.handle(createExchange())]

    expect(stage.sent[0]?.exchange.fields).toEqual([])
    expect([first.status, readText(first)]).toEqual([304, ''])
    expect([later.status, readText(later), stage.sent.length]).toEqual([200, 'body', 1])
  })

  test('keeps the attempts with the exchange that caused them', async () => {
    const stage = openCache()
    const [first, second] = [createExchange(), createExchange()]
    const pending = [stage.handle(first), stage.handle(second)]
    const [sent] = stage.sent
    if (sent !== undefined) sent.exchange.attempts.count = 2
    await sent?.respond(createResponse(fresh))
    await Promise.all(pending)

    expect([first.attempts.count, second.attempts.count]).toEqual([2, 0])
    expect([first.outcome?.outcome, second.outcome?.outcome]).toEqual(['miss', 'collapsed'])
  })

  test.each([
    ['a body', { body: { ...fakeExchange().body, length: 3 } }, 'body'],
    ['credentials', { fields: ['Authorization', 'Bearer x'] }, 'credentials'],
    ['another credential', { fields: ['X-Api-Key', 'x'] }, 'credentials'],
    ['a certificate', { peer: { trusted: false, inFlight: 1, certificate: () => ({}) as never } }, 'credentials'],
  ])('is bypassed with %s: the exchange itself is forwarded', async (_, opening, detail) => {
    const stage = openCache()
    await storing(stage, createResponse(fresh))
    const exchange = fakeExchange(opening)

    void stage.handle(exchange)

    expect(stage.sent[1]?.exchange).toBe(exchange)
    expect([exchange.outcome?.outcome, getCacheStatus(exchange)]).toEqual([
      'bypass',
      `lender-gateway;fwd=bypass;detail=${detail}`,
    ])
  })

  test.each([
    ['forbidden', createResponse(['Cache-Control', 'no-store']), 'no-store', undefined],
    ['too long', createResponse([...fresh, 'Content-Length', '65536'], new FedBody()), 'too-large', undefined],
    [
      'of a malformed length',
      createResponse([...fresh, 'Content-Length', 'x'], new FedBody()),
      'bad-length',
      undefined,
    ],
    [
      'more than there is room for',
      createResponse([...fresh, 'Content-Length', '60000'], new FedBody()),
      'no-room',
      65536,
    ],
  ])('is none when the response is %s, and Cache-Status says so', async (_, response, detail, maxBytes) => {
    const stage = openCache({}, maxBytes)
    const exchange = createExchange()

    const pending = stage.handle(exchange)
    await stage.sent[0]?.respond(response)
    await pending

    expect(getCacheStatus(exchange)).toBe(`lender-gateway;fwd=uri-miss;detail=${detail}`)
  })

  test.each([
    ['whole', () => createResponse(tagged)],
    ['on its way', () => createResponse(tagged, new FedBody())],
    ['a 304', () => createResponse(tagged, '', 304)],
  ])('is none after a purge while it was fetched, which those who waited get all the same: %s', async (_, respond) => {
    const stage = await openStale(tagged)
    const [first, second] = [createExchange(), createExchange()]
    const pending = [stage.handle(first), stage.handle(second)]

    stage.store.purge({ operation: 'market.insights', client: null })
    const response = respond()
    await stage.sent[1]?.respond(response)
    await Promise.all(pending)

    const fwdStatus = response.status === 304 ? ';fwd-status=304' : ''
    expect(getCacheStatus(first)).toBe(`lender-gateway;fwd=stale${fwdStatus};ttl=60`)
    expect([second.outcome?.outcome, stage.store.size]).toEqual(['collapsed', 0])
  })

  test('is none where there is no room for all that has come at once', async () => {
    const stage = openCache({}, 1024)
    const exchange = createExchange()

    const pending = stage.handle(exchange)
    await stage.sent[0]?.respond(createResponse(fresh, 'x'.repeat(2000)))
    await pending

    expect(getCacheStatus(exchange)).toBe('lender-gateway;fwd=uri-miss;ttl=60')
  })

  test('is not waited for within five seconds of a response that could not be shared: the reason is repeated', async () => {
    const stage = openCache()
    await storing(stage, createResponse(['Cache-Control', 'private']))
    const [soon, later] = [createExchange(), createExchange()]

    void stage.handle(soon)
    secondsLater(5)
    const pending = stage.handle(later)
    await stage.sent[2]?.respond(createResponse(['Cache-Control', 'no-store']))
    await pending

    expect(getCacheStatus(soon)).toBe('lender-gateway;fwd=uri-miss;detail=private')
    expect(getCacheStatus(later)).toBe('lender-gateway;fwd=uri-miss;detail=no-store')
  })

  test('is not affected by the credentials of another client: a reason that only they gave is not repeated', async () => {
    const stage = openCache({ shared: true })
    await storing(stage, createResponse(fresh), ['Authorization', 'Bearer x'])
    const exchange = createExchange()

    void stage.handle(exchange)
    await stage.sent[1]?.respond(createResponse(fresh))

    expect(getCacheStatus(exchange)).toBe('lender-gateway;fwd=uri-miss;stored;ttl=60')
  })

  test('goes in a purge, and a response that was requested before is not stored after', async () => {
    const stage = openCache()
    const pending = stage.handle(createExchange())

    stage.store.purge({ operation: 'market.insights', client: null })
    const later = stage.handle(createExchange())
    await stage.sent[0]?.respond(createResponse(fresh, 'before'))
    await stage.sent[1]?.respond(createResponse(fresh, 'after'))

    expect([readText(await pending), readText(await later)]).toEqual(['before', 'after'])
    expect(readText(await stage.handle(createExchange()))).toBe('after')
  })
})

describe('simultaneous requests for the same', () => {
  test('make one upstream request of a hundred, and each gets all of the response', async () => {
    const stage = openCache()
    const pending = Array.from({ length: 100 }, () => stage.handle(createExchange()))

    await stage.sent[0]?.respond(createResponse(fresh))
    const texts = (await Promise.all(pending)).map(readText)

    expect(stage.sent).toHaveLength(1)
    expect(new Set(texts)).toEqual(new Set(['body']))
    expect(stage.partition.tally.counts).toMatchObject({ miss: 1, collapsed: 99 })
  })

  test('are not harmed by a client that leaves, not even by the first', async () => {
    const stage = openCache()
    const exchanges = [createExchange(), createExchange(), createExchange()]
    const pending = exchanges.map((each) => stage.handle(each))
    const left = [pending[0], pending[1]].map((each) => expect(each).rejects.toMatchObject({ kind: 'client-gone' }))

    exchanges[0]?.abort(clientGone())
    exchanges[1]?.abort(clientGone())
    await stage.sent[0]?.respond(createResponse(fresh))

    await Promise.all(left)
    expect(readText((await pending[2]) as ProxyResponse)).toBe('body')
    expect([stage.sent.length, stage.sent[0]?.exchange.aborted]).toEqual([1, null])
  })

  test('end the upstream request when the last of them has left, and the next begins another', async () => {
    const stage = openCache()
    const exchanges = [createExchange(), createExchange()]
    for (const each of exchanges) stage.handle(each).catch(() => {})

    exchanges[0]?.abort(clientGone())
    const early = stage.sent[0]?.exchange.aborted
    exchanges[1]?.abort(clientGone())
    void stage.handle(createExchange()).catch(() => {})

    expect(early).toBeNull()
    expect(stage.sent[0]?.exchange.aborted).toMatchObject({ kind: 'client-gone' })
    expect(stage.sent).toHaveLength(2)
  })

  test('get the same failure', async () => {
    const stage = openCache()
    const pending = Array.from({ length: 5 }, () => stage.handle(createExchange()))
    const rejections = pending.map((each) => expect(each).rejects.toMatchObject({ kind: 'headers-timeout' }))

    await stage.sent[0]?.fail(new GatewayError('headers-timeout'))

    await Promise.all(rejections)
    expect(stage.sent).toHaveLength(1)
  })

  test.each([
    ['says no-store', ['Cache-Control', 'no-store']],
    ['varies by all', [...fresh, 'Vary', '*']],
    ['says nothing', []],
  ])('go on at once and each for itself when the response %s', async (_, fields) => {
    const stage = openCache()
    const exchanges = Array.from({ length: 5 }, () => createExchange())
    const pending = exchanges.map((each) => stage.handle(each))

    await stage.sent[0]?.respond(createResponse(fields, 'of the first'))
    const inParallel = stage.sent.slice(1).map(({ exchange }) => exchange)
    await Promise.all(stage.sent.slice(1).map((sent) => sent.respond(createResponse(fields, 'of another'))))

    expect(inParallel).toEqual(exchanges.slice(1))
    expect((await Promise.all(pending)).map(readText)).toEqual(['of the first', ...Array(4).fill('of another')])
    void stage.handle(createExchange())
    void stage.handle(createExchange())
    expect(stage.sent).toHaveLength(7) // for a while no request waits for this key
  })

  test('leave nothing unread when the client has left whose response it was', async () => {
    const stage = openCache()
    const [first, second] = [createExchange(), createExchange()]
    stage.handle(first).catch(() => {})
    void stage.handle(second)
    const body = new FedBody().feed('of the first')

    first.abort(clientGone())
    await stage.sent[0]?.respond(createResponse([], body))

    expect(body.discarded).toBe(true)
    expect(stage.sent[1]?.exchange).toBe(second)
  })

  test('find each other by variant, as soon as it is known what varies', async () => {
    const stage = openCache()
    const ask = (language: string): Promise<ProxyResponse> =>
      stage.handle(createExchange(['Accept-Language', language]))
    const pending = [ask('de'), ask('de'), ask('fr'), ask('fr'), ask('fr')]
    const varying = [...fresh, 'Vary', 'Accept-Language']

    await stage.sent[0]?.respond(createResponse(varying, 'deutsch'))
    await stage.sent[1]?.respond(createResponse(varying, 'français'))
    const texts = (await Promise.all(pending)).map(readText)
    const later = [ask('fr'), ask('de')]

    expect(texts).toEqual(['deutsch', 'deutsch', 'français', 'français', 'français'])
    expect((await Promise.all(later)).map(readText)).toEqual(['français', 'deutsch'])
    expect(stage.sent).toHaveLength(2)
  })

  test('do not wait where each has to ask the upstream itself', async () => {
    const stage = openCache()
    const fields = ['Cache-Control', 'no-cache', 'ETag', '"a"']
    await storing(stage, createResponse(fields))

    const pending = [stage.handle(createExchange()), stage.handle(createExchange())]
    expect(stage.sent).toHaveLength(3)
    for (const sent of stage.sent.slice(1)) await sent.respond(createResponse(fields, '', 304))

    expect((await Promise.all(pending)).map(readText)).toEqual(['body', 'body'])
    expect(stage.sent.slice(1).map(({ exchange }) => exchange.fields)).toEqual([
      ['If-None-Match', '"a"'],
      ['If-None-Match', '"a"'],
    ])
  })

  test('are forwarded when there are too many variants at once', () => {
    const stage = openCache()
    const exchanges = Array.from({ length: 40 }, () => createExchange(['Cache-Control', 'no-cache']))

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
    const [sent] = stage.sent

    sent?.exchange.onInterim?.(103, [])
    first.abort(clientGone())
    sent?.exchange.onInterim?.(103, [])

    expect(interims).toEqual([103])
  })
})

describe('while it streams', () => {
  test('each reads at its own pace, and no client waits for the store', async () => {
    const stage = openCache()
    const body = new FedBody().feed('one ')
    const pending = [stage.handle(createExchange()), stage.handle(createExchange())]
    await stage.sent[0]?.respond(createResponse(fresh, body))
    const [fast, slow] = (await Promise.all(pending)).map(({ body }, i) => new Client(body, i === 1))

    body.feed('two ')
    const meanwhile = [fast?.text, slow?.text]
    const late = new Client((await stage.handle(createExchange())).body)
    const joined = late.text
    body.feed('three').end()
    const beforeIt = [fast?.ended, slow?.ended]
    slow?.catchUp()

    expect(meanwhile).toEqual(['one two ', 'one '])
    expect([joined, body.paused, beforeIt]).toEqual(['one two ', false, [true, false]])
    expect([fast, slow, late].map((each) => each?.text)).toEqual(Array(3).fill('one two three'))
    expect(readText(await stage.handle(createExchange()))).toBe('one two three')
    expect(stage.sent).toHaveLength(1)
  })

  test('a body that the upstream breaks off is errors off for all, and not stored', async () => {
    const stage = openCache()
    const body = new FedBody().feed('begun')
    const pending = [stage.handle(createExchange()), stage.handle(createExchange())]
    await stage.sent[0]?.respond(createResponse(fresh, body))
    const [first, second] = await Promise.all(pending)
    const client = new Client((first as ProxyResponse).body)

    body.fail(new GatewayError('truncated'))
    const late = new Client((second as ProxyResponse).body)

    expect([client.failure?.kind, late.failure?.kind]).toEqual(['truncated', 'truncated'])
    expect([stage.partition.entries, stage.store.bytes]).toEqual([0, 0])
    void stage.handle(createExchange())
    expect(stage.sent).toHaveLength(2)
  })

  test.each([
    ['less', ['Content-Length', '10'], ['short']],
    ['more', ['Content-Length', '3'], ['longer']],
  ])('a body that is %s than declared is relayed as it came, and not stored', async (_, length, chunks) => {
    const stage = openCache()
    const body = new FedBody()
    const pending = stage.handle(createExchange())
    await stage.sent[0]?.respond(createResponse([...fresh, ...length], body))
    const client = new Client((await pending).body)

    body.feed(...chunks).end()

    expect([client.text, client.ended]).toEqual([chunks.join(''), true])
    expect([stage.partition.entries, stage.store.bytes]).toEqual([0, 0])
  })

  test('it goes on for those who stay, and ends when the last has left', async () => {
    const stage = openCache()
    const body = new FedBody().feed('begun')
    const exchanges = [createExchange(), createExchange()]
    const pending = exchanges.map((each) => stage.handle(each))
    await stage.sent[0]?.respond(createResponse(fresh, body))
    for (const each of await Promise.all(pending)) new Client(each.body)

    exchanges[0]?.abort(clientGone())
    const early = stage.sent[0]?.exchange.aborted
    exchanges[1]?.abort(clientGone())

    expect(early).toBeNull()
    expect(stage.sent[0]?.exchange.aborted?.kind).toBe('client-gone')
    expect([stage.partition.entries, stage.store.bytes]).toEqual([0, 0])
  })

  test('it goes on for the store when the client needs none of it, but not for ever', async () => {
    const bodies = [new FedBody(), new FedBody()]
    const stage = openCache()
    for (const [i, body] of bodies.entries()) {
      const pending = stage.handle(createExchange(['If-None-Match', '"a"'], `?${i}`))
      await stage.sent[i]?.respond(createResponse(tagged, body))
      await pending
    }

    secondsLater(29)
    bodies[0]?.feed('body').end()
    const before = stage.sent[1]?.exchange.aborted
    secondsLater(1)

    expect(readText(await stage.handle(createExchange([], '?0')))).toBe('body')
    expect([before, stage.sent[1]?.exchange.aborted?.kind]).toEqual([null, 'client-gone'])
  })

  test('a body that grows too long is relayed to all who read it, at the pace of the slowest', async () => {
    const stage = openCache({ maxEntry: 8 * 1024 })
    const body = new FedBody().feed('x'.repeat(5000))
    const pending = [stage.handle(createExchange()), stage.handle(createExchange())]
    await stage.sent[0]?.respond(createResponse(fresh, body))
    const [fast, slow] = (await Promise.all(pending)).map(({ body }, i) => new Client(body, i === 1))

    for (let i = 0; i < 60; i++) body.feed('y'.repeat(5000))
    const waiting = body.paused
    slow?.catchUp()
    const went = body.paused
    body.end()

    expect([waiting, went]).toEqual([true, false])
    expect([fast?.text.length, fast?.ended, slow?.text.length, slow?.ended]).toEqual([305_000, true, 305_000, true])
    expect([stage.partition.entries, stage.store.bytes]).toEqual([0, 0])
    void stage.handle(createExchange())
    void stage.handle(createExchange())
    expect(stage.sent).toHaveLength(3)
  })

  // The attack: a 304 at the head gives back all that a client may have in flight, while the fetch holds a connection.
  test('it goes on without a client for fifty at a time, and what is stale is fetched anew beside them', async () => {
    const stage = await openStale(tagged, { staleWhileRevalidate: 600_000 })
    const bodies: FedBody[] = []
    const ask = async (): Promise<number> => {
      const body = new FedBody()
      const pending = stage.handle(createExchange(['If-None-Match', '*'], `?${bodies.push(body)}`))
      await stage.sent.at(-1)?.respond(createResponse(tagged, body))
      return (await pending).status
    }
    const isGone = ({ exchange }: (typeof stage.sent)[number]): boolean => exchange.aborted !== null

    const statuses = new Set<number>()
    for (let i = 0; i < 110; i++) statuses.add(await ask())
    const gone = stage.sent.filter(isGone).length
    bodies[0]?.end()
    await ask()
    await stage.handle(createExchange())

    expect([...statuses, gone, stage.sent.filter(isGone).length]).toEqual([304, 60, 60])
    expect(stage.sent.at(-1)?.exchange.query).toBe('')
  })

  test('it is not called stored where it ends because its client needs none of it, and too many go on', async () => {
    const stage = openCache()
    const statuses: (string | undefined)[] = []
    for (let i = 0; i < 51; i++) {
      const exchange = createExchange(['If-None-Match', '*'], `?${i}`)
      const pending = stage.handle(exchange)
      await stage.sent.at(-1)?.respond(createResponse(tagged, new FedBody()))
      await pending
      statuses.push(getCacheStatus(exchange))
    }

    expect(statuses.slice(-2)).toEqual([
      'lender-gateway;fwd=uri-miss;fwd-status=200;stored;ttl=60',
      'lender-gateway;fwd=uri-miss;fwd-status=200;ttl=60',
    ])
  })

  // The attack: many read slowly what grows too long. Each would hold as much as an entry may have, beside the cache.
  test.each([
    ['grows too long', [], ['x'.repeat(5000), 'y'.repeat(5000)]],
    ['is longer than declared', ['Content-Length', '5000'], ['x'.repeat(5000), 'y'.repeat(5000)]],
    ['is shorter than declared', ['Content-Length', '7000'], ['x'.repeat(4000), 'y'.repeat(2000)]],
  ])('a body that %s counts until its slowest reader has it', async (_, length, chunks) => {
    const stage = openCache({ maxEntry: 8 * 1024 })
    const body = new FedBody()
    const exchanges = [createExchange(), createExchange()]
    const pending = exchanges.map((each) => stage.handle(each))
    await stage.sent[0]?.respond(createResponse([...fresh, ...length], body))
    const [slow] = (await Promise.all(pending)).map(({ body }) => new Client(body, true))

    body.feed(...chunks).end()
    const waiting = stage.store.bytes
    exchanges[1]?.abort(clientGone())
    const stillWaiting = stage.store.bytes
    slow?.catchUp()

    expect([waiting, stillWaiting].map((bytes) => bytes >= 5000)).toEqual([true, true])
    expect([slow?.text, slow?.ended, stage.store.bytes]).toEqual([chunks.join(''), true, 0])
  })

  test('a body that declares to be too long is for one client alone', async () => {
    const stage = openCache({ maxEntry: 8 * 1024 })
    const body = new FedBody()
    const [first, second] = [createExchange(), createExchange()]
    const pending = stage.handle(first)
    void stage.handle(second)

    await stage.sent[0]?.respond(createResponse([...fresh, 'Content-Length', '9000'], body))

    expect((await pending).body).toBe(body)
    expect(stage.sent[1]?.exchange).toBe(second)
  })

  test('bodies on their way take no more room than there is', async () => {
    const stage = openCache({ maxEntry: 64 * 1024 }, 100 * 1024)
    const lengths = [30_000, 30_000, 10_000]
    const bodies = lengths.map(() => new FedBody())
    const pending = lengths.map((_, i) => stage.handle(createExchange([], `?${i}`)))
    for (const [i, length] of lengths.entries())
      await stage.sent[i]?.respond(createResponse([...fresh, 'Content-Length', String(length)], bodies[i]))

    const responses = await Promise.all(pending)

    expect(responses.map(({ body }, i) => body === bodies[i])).toEqual([false, true, false])
    expect(stage.store.bytes).toBeLessThanOrEqual(50 * 1024)
  })

  test('a body in the smallest chunks takes no more than a body', async () => {
    const stage = openCache({ maxEntry: 64 * 1024 }, 1024 * 1024)
    const body = new FedBody()
    const pending = stage.handle(createExchange())
    await stage.sent[0]?.respond(createResponse(fresh, body))
    const client = new Client((await pending).body)

    for (let i = 0; i < 20_000; i++) body.feed('x')
    const onItsWay = stage.store.bytes
    body.end()

    expect(client.text.length).toBe(20_000)
    expect(onItsWay).toBeLessThan(40_000)
    expect(stage.partition.bytes).toBeLessThan(22_000)
  })
})

describe('in trouble', () => {
  const kinds = ['connect-failed', 'reset-before-headers', 'circuit-open', 'no-healthy-endpoint'] as const

  test.each(kinds)('%s: a stale response is served for a minute, to all who wait', async (kind) => {
    const stage = openCache()
    await storing(stage, createResponse(fresh))
    secondsLater(119)
    const exchanges = [createExchange(), createExchange(), createExchange(['Range', 'bytes=0-1'])]

    const pending = exchanges.map((each) => stage.handle(each))
    for (const sent of stage.sent.slice(1)) await sent.fail(new GatewayError(kind))
    const responses = await Promise.all(pending)
    secondsLater(1)
    const late = stage.handle(createExchange())
    const rejections = expect(late).rejects.toMatchObject({ kind })
    await stage.sent.at(-1)?.fail(new GatewayError(kind))

    expect(responses.map(readText)).toEqual(['body', 'body', 'bo'])
    expect(exchanges.map(({ outcome }) => outcome?.outcome)).toEqual(['stale', 'stale', 'stale'])
    expect(getCacheStatus(exchanges[0] as Exchange)).toBe('lender-gateway;fwd=stale;ttl=-59')
    await rejections
  })

  test('an error response gives way to a stale one only where that is allowed', async () => {
    const [allowed, not] = [openCache({ staleIfError: 60_000 }), openCache()]
    const seen: (string | number)[] = []
    for (const stage of [allowed, not]) {
      await storing(stage, createResponse(fresh))
      secondsLater(61)
      const body = new FedBody().feed('trouble')
      const pending = stage.handle(createExchange())
      await stage.sent[1]?.respond(createResponse([...fresh], body, 503))
      seen.push((await pending).status, String(body.discarded))
    }

    expect(seen).toEqual([200, 'true', 503, 'false'])
  })
})

describe('a stale response', () => {
  test('is validated, and served again when it is still good', async () => {
    const stage = await openStale(tagged)
    const [exchange, other] = [createExchange(), createExchange(['If-None-Match', '"a"'])]
    const pending = [stage.handle(exchange), stage.handle(other)]

    await stage.sent[1]?.respond(createResponse(tagged, '', 304))
    const [response, spared] = await Promise.all(pending)

    expect(stage.sent[1]?.exchange.fields).toEqual(['If-None-Match', '"a"'])
    expect([response?.status, readText(response as ProxyResponse), spared?.status]).toEqual([200, 'body', 304])
    expect([exchange.outcome?.outcome, other.outcome?.outcome]).toEqual(['revalidated', 'collapsed'])
    expect(getCacheStatus(exchange)).toBe('lender-gateway;fwd=stale;fwd-status=304;stored;ttl=60')
    expect([(await stage.handle(createExchange())).status, stage.sent.length]).toEqual([200, 2])
  })

  test('is fetched anew when the 304 is about something else', async () => {
    const stage = await openStale(tagged)
    const pending = stage.handle(createExchange())

    await stage.sent[1]?.respond(createResponse([...fresh, 'ETag', '"other"'], '', 304))
    await stage.sent[2]?.respond(createResponse(fresh, 'new'))

    expect(stage.sent[2]?.exchange.fields).toEqual([])
    expect(readText(await pending)).toBe('new')
  })

  describe('while it is revalidated', () => {
    const swr = ['Cache-Control', 'max-age=60, stale-while-revalidate=60', 'ETag', '"a"']

    test('is served at once, and fetched once', async () => {
      const stage = await openStale(swr)
      const exchange = createExchange()

      const responses = await Promise.all([
        stage.handle(exchange),
        stage.handle(createExchange()),
        stage.handle(createExchange()),
      ])
      const fetched = stage.sent.length
      await stage.sent[1]?.respond(createResponse(swr, 'new'))
      const after = await stage.handle(createExchange())

      expect(responses.map(readText)).toEqual(['body', 'body', 'body'])
      expect([fetched, exchange.outcome?.outcome]).toEqual([2, 'stale'])
      expect([readText(after), stage.sent.length]).toEqual(['new', 2])
    })

    test('is revalidated although the client that caused it has left', async () => {
      const stage = await openStale(swr)
      const exchange = createExchange()
      await stage.handle(exchange)

      exchange.abort(clientGone())
      await stage.sent[1]?.respond(createResponse(swr, 'new'))

      expect(readText(await stage.handle(createExchange()))).toBe('new')
    })

    test('goes when the new response cannot be stored', async () => {
      const stage = await openStale(swr)
      await stage.handle(createExchange())
      const body = new FedBody().feed('secret')

      await stage.sent[1]?.respond(createResponse(['Cache-Control', 'private'], body))

      expect([body.discarded, stage.partition.entries]).toEqual([true, 0])
    })

    test('stays when that fails, which is logged, and is tried again', async () => {
      const stage = await openStale(swr)
      await stage.handle(createExchange())

      await stage.sent[1]?.fail(new GatewayError('connect-failed'))
      const again = await stage.handle(createExchange())

      expect(stage.revalidationErrors.map(({ kind }) => kind)).toEqual(['connect-failed'])
      expect([readText(again), stage.sent.length]).toEqual(['body', 3])
    })

    test('is so for a hundred keys at a time', async () => {
      const stage = openCache()
      for (let i = 0; i < 110; i++) {
        void stage.handle(createExchange([], `?${i}`))
        await stage.sent[i]?.respond(createResponse(swr))
      }
      secondsLater(61)

      const responses = await Promise.all(
        Array.from({ length: 110 }, (_, i) => stage.handle(createExchange([], `?${i}`))),
      )

      expect(responses.every(({ status }) => status === 200)).toBe(true)
      expect(stage.sent).toHaveLength(210)
    })
  })
})

describe('a Range', () => {
  test('of anything else is forwarded as it came, and waits for no fetch', () => {
    const stage = openCache()
    void stage.handle(createExchange())
    const exchange = createExchange(['Range', 'bytes=2-3'])

    void stage.handle(exchange)

    expect(stage.sent[1]?.exchange).toBe(exchange)
  })
})

describe('whatever the policy throws', () => {
  /** Creates an exchange whose fields throw when they are read for the nth time. */
  const explosive = (): Exchange => {
    const exchange = createExchange()
    let reads = 0
    const plain = exchange.fields
    Object.defineProperty(exchange, 'fields', {
      get() {
        if (reads++ === 0) throw new TypeError('planted')
        return plain
      },
    })
    return exchange
  }

  test('the request is forwarded as if there were no cache', () => {
    const stage = openCache()
    const exchange = explosive()

    void stage.handle(exchange)

    expect(stage.sent[0]?.exchange).toBe(exchange)
    expect(stage.errors).toHaveLength(1)
  })

  test('a response that cannot be judged goes to the one who began the fetch, and the others fetch', async () => {
    const stage = openCache()
    const [first, second] = [createExchange(), createExchange()]
    const pending = [stage.handle(first), stage.handle(second)]
    const fields = new Proxy(fresh, {
      get(target, key) {
        if (key === 'length') throw new TypeError('planted')
        return Reflect.get(target, key)
      },
    })

    await stage.sent[0]?.respond(createResponse(fields, 'of the first'))
    await stage.sent[1]?.respond(createResponse(fresh, 'of the second'))

    expect((await Promise.all(pending)).map(readText)).toEqual(['of the first', 'of the second'])
    expect([stage.errors.length, stage.partition.entries]).toEqual([1, 0])
  })
})

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

describe('a response that was made earlier does not replace one that another fetch has stored meanwhile', () => {
  const dated = (seconds: number, ...fields: string[]) => [
    ...['Cache-Control', 'max-age=60', 'Date', new Date(Date.UTC(2026, 10, 22, 12, 0, seconds)).toUTCString()],
    ...fields,
  ]

  /** Has a slow fetch answered after a fast one that begins later, and returns what is served then. */
  const overtake = async (stage: ReturnType<typeof openCache>, slow: ProxyResponse, fast: ProxyResponse) => {
    const n = stage.sent.length
    const slowly = stage.handle(createExchange(['Cache-Control', 'no-cache']))
    secondsLater(2)
    const fastly = stage.handle(createExchange(['Cache-Control', 'no-cache']))
    secondsLater(1)
    await stage.sent[n + 1]?.respond(fast)
    secondsLater(1)
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
    await storing(stage, createResponse(dated(0, 'ETag', '"a"')))
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

test('a 304 that forbids storing is only for the exchange that sent the request', async () => {
  const stage = openCache()
  await storing(stage, createResponse(['Cache-Control', 'max-age=60', 'ETag', '"a"']))
  secondsLater(1)
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
    const stage = await openStale(['Cache-Control', 'max-age=60', 'ETag', '"a"'])
    const rejected = stage.handle(createExchange())
    await stage.sent[1]?.respond(createResponse([], 'rejected', status))

    const pending = [stage.handle(createExchange()), stage.handle(createExchange())]
    await stage.sent[2]?.respond(createResponse(['Cache-Control', 'max-age=60', 'ETag', '"a"'], '', 304))

    expect((await rejected).status).toBe(status)
    expect((await Promise.all(pending)).map(readText)).toEqual(['body', 'body'])
    expect(stage.sent).toHaveLength(3)
  },
)

test.each([401, 407])('a %i to a client that asked past what is fresh leaves it to the next one', async (status) => {
  const stage = openCache()
  await storing(stage, createResponse(['Cache-Control', 'max-age=60']))
  const rejected = stage.handle(createExchange(['Cache-Control', 'no-cache', 'X-Bait', '../../etc/passwd']))
  await stage.sent[1]?.respond(createResponse([], 'rejected', status))
  const next = createExchange()

  const pending = stage.handle(next)
  await stage.sent[2]?.respond(createResponse([], 'fetched anew'))

  expect((await rejected).status).toBe(status)
  expect([readText(await pending), next.outcome?.outcome]).toEqual(['body', 'hit'])
})

test.each([401, 403, 407])('a %i to the one client that a response was stored for removes it', async (status) => {
  const stage = openCache()
  const exchange = (): Exchange => Object.assign(createExchange(), { identity: { client: 'bank-a' } })
  const first = stage.handle(exchange())
  await stage.sent[0]?.respond(createResponse(['Cache-Control', 'max-age=60, stale-while-revalidate=600'], 'body'))
  await first
  secondsLater(61)
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
    await storing(stage, createResponse(fields))
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
    await storing(stage, createResponse(['Cache-Control', 'max-age=5', 'ETag', '"a"']))
    secondsLater(20)
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
    const stage = await openStale(['Cache-Control', 'max-age=60', ...modified], {
      shared: true,
      staleWhileRevalidate: 600_000,
    })
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
  const stage = await openStale(['Cache-Control', 'max-age=60, stale-while-revalidate=60'])

  const stale = await stage.handle(createExchange(['Cache-Control', 'no-store, only-if-cached']))

  expect([readText(stale), stage.sent.length]).toEqual(['body', 1])
})

test('an upstream in trouble says nothing of what is stored, nor of the key', async () => {
  const stage = await openStale(['Cache-Control', 'max-age=60, must-revalidate', 'ETag', '"a"'])
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
  const stage = await openStale(['Cache-Control', 'max-age=60'], { maxEntry: 8 * 1024, staleWhileRevalidate: 60_000 })
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
  const stage = await openStale(['Cache-Control', 'max-age=60'], { staleWhileRevalidate: 60_000 })
  await stage.handle(createExchange())
  const body = new FedBody()
  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'max-age=60', 'Content-Length', '5000'], body))

  body.feed('short').end()

  expect([stage.partition.entries, stage.store.bytes]).toEqual([0, 0])
})

test('revalidations that have ended make room for others', async () => {
  const stage = openCache({ staleWhileRevalidate: 3600_000 })
  await storing(stage, createResponse(['Cache-Control', 'max-age=1', 'ETag', '"a"']))

  for (let i = 1; i <= 110; i++) {
    secondsLater(2)
    await stage.handle(createExchange())
    await stage.sent[i]?.respond(createResponse(['Cache-Control', 'max-age=1', 'ETag', '"a"'], '', 304))
  }

  expect(stage.sent).toHaveLength(111)
})

// The attack: send a field that makes the upstream never respond. Every request for the same would wait with it.
test('a request that comes when a fetch has been waited for too long fetches anew, and those after it wait for that', async () => {
  const stage = openCache()
  const hung = stage.handle(createExchange(['X-Hang', 'yes']))
  secondsLater(5)

  const pending = [stage.handle(createExchange()), stage.handle(createExchange())]
  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'max-age=60'], 'at once'))
  const after = stage.handle(createExchange())

  expect((await Promise.all([...pending, after])).map(readText)).toEqual(['at once', 'at once', 'at once'])
  expect(stage.sent).toHaveLength(2)
  await stage.sent[0]?.respond(createResponse([], 'late'))
  expect(readText(await hung)).toBe('late')
})

test('nothing is left behind in the end', async () => {
  const stage = openCache({ maxEntry: 8 * 1024 })
  const ends: readonly ((nth: number, exchange: Exchange, body: FedBody) => unknown)[] = [
    (nth) => stage.sent[nth]?.fail(new GatewayError('connect-failed')),
    (_, exchange) => exchange.abort(clientGone()),
    (nth, _, body) => stage.sent[nth]?.respond(createResponse([], body)),
    (nth, _, body) =>
      stage.sent[nth]?.respond(createResponse(fresh, body)).then(() => body.fail(new GatewayError('truncated'))),
    (nth, exchange, body) =>
      stage.sent[nth]?.respond(createResponse(fresh, body)).then(() => exchange.abort(clientGone())),
    (nth, _, body) =>
      stage.sent[nth]?.respond(createResponse(fresh, body)).then(() => body.feed('x'.repeat(9000)).end()),
  ]

  for (const [i, end] of ends.entries()) {
    const exchange = createExchange([], `?${i}`)
    const pending = stage.handle(exchange).then(({ body }) => new Client(body))
    pending.catch(() => {})
    await end(i, exchange, new FedBody())
    await settled()
  }

  expect([stage.sent.length, stage.store.bytes, stage.partition.entries]).toEqual([ends.length, 0, 0])
  expect(vi.getTimerCount()).toBe(0)
})
