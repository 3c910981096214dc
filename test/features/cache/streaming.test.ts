import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { Client, FedBody, getCacheStatus, openCache } from './helper.ts'
import {
  askAtOnce,
  clientGone,
  createExchange,
  fresh,
  isEmpty,
  noStore,
  openStale,
  openStreaming,
  readAll,
  readText,
  secondsLater,
  tagged,
} from './stage.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

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

  test('a body that the upstream breaks off is broken off for every client, and not stored', async () => {
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

test('a response for one client alone ends with that client', async () => {
  const { exchanges, sent } = await openStreaming([false], noStore)
  exchanges[0]?.abort(clientGone())

  expect(sent[0]?.exchange.aborted?.kind).toBe('client-gone')
})

test('a response that is complete at once is held to the length of an entry as well', async () => {
  const stage = openCache({ maxEntry: 2048 })
  const pending = [stage.get(), stage.get()]
  await stage.respond(0, fresh, 'x'.repeat(2000))
  await stage.respond(1, [], 'of the second')

  expect((await readAll(pending)).map(({ length }) => length)).toEqual([2000, 13])
  expect(stage.partition.entries).toBe(0)
})
