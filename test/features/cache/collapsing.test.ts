import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { FedBody, openCache } from './helper.ts'
import {
  askAtOnce,
  clientGone,
  createExchange,
  fresh,
  noCache,
  noStore,
  openStored,
  readAll,
  readText,
  secondsLater,
  tagged,
  times,
} from './stage.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

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
