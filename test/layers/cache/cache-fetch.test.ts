import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Exchange, ProxyResponse } from '../../../src/exchange.ts'
import { GatewayError } from '../../../src/failures/errors.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { Client, createResponse, FedBody, opened } from './helper.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const exchangeOf = (fields: string[] = [], query = ''): Exchange => fakeExchange({ fields, query })

const textOf = (answer: ProxyResponse): string => new Client(answer.body).text

const storing = async (stage: ReturnType<typeof opened>, fields: readonly string[]): Promise<void> => {
  const asked = stage.handle(exchangeOf())
  await stage.sent.at(-1)?.respond(createResponse(fields))
  new Client((await asked).body)
}

const seconds = 1000

test('an answer that is one client’s alone ends with that client', async () => {
  const stage = opened()
  const exchange = exchangeOf()
  const asked = stage.handle(exchange)
  await stage.sent[0]?.respond(createResponse(['Cache-Control', 'no-store'], new FedBody().feed('begun')))
  new Client((await asked).body)

  exchange.abort(new GatewayError('client-gone'))

  expect(stage.sent[0]?.exchange.aborted?.kind).toBe('client-gone')
})

test('what has to be validated each time is not given to those who waited for it', async () => {
  const stage = opened()
  const [first, second] = [exchangeOf(), exchangeOf()]
  const asked = [stage.handle(first), stage.handle(second)]

  await stage.sent[0]?.respond(createResponse(['Cache-Control', 'no-cache', 'ETag', '"a"'], 'of the first'))
  await stage.sent[1]?.respond(createResponse([], 'of the second'))

  expect(stage.sent[1]?.exchange).toBe(second)
  expect((await Promise.all(asked)).map(textOf)).toEqual(['of the first', 'of the second'])
})

test('those who fetched the same side by side leave one entry', async () => {
  const stage = opened()
  const asked = [
    stage.handle(exchangeOf(['Cache-Control', 'no-cache'])),
    stage.handle(exchangeOf(['Cache-Control', 'no-cache'])),
  ]

  for (const [i, sent] of stage.sent.entries())
    await sent.respond(createResponse(['Cache-Control', 'max-age=60'], String(i)))
  await Promise.all(asked)

  expect([stage.sent.length, stage.part.entries]).toEqual([2, 1])
  expect(textOf(await stage.handle(exchangeOf()))).toBe('1')
})

test('what is complete at once is held to the length of an entry as well', async () => {
  const stage = opened({ maxEntry: 2048 })
  const asked = [stage.handle(exchangeOf()), stage.handle(exchangeOf())]

  await stage.sent[0]?.respond(createResponse(['Cache-Control', 'max-age=60'], 'x'.repeat(2000)))
  await stage.sent[1]?.respond(createResponse([], 'of the second'))

  expect((await Promise.all(asked)).map((response) => textOf(response).length)).toEqual([2000, 13])
  expect(stage.part.entries).toBe(0)
})

test('a 304 that says no-store is served once more, and what was stored goes', async () => {
  const stage = opened()
  await storing(stage, ['Cache-Control', 'max-age=60', 'ETag', '"a"'])
  vi.advanceTimersByTime(61 * seconds)

  const asked = stage.handle(exchangeOf())
  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'no-store', 'ETag', '"a"'], '', 304))

  expect([textOf(await asked), stage.part.entries]).toEqual(['body', 0])
})

test('a 304 that forbids storing is for nobody but who asked', async () => {
  const stage = opened()
  await storing(stage, ['Cache-Control', 'max-age=60', 'ETag', '"a"'])
  vi.advanceTimersByTime(1 * seconds)
  const asked = stage.handle(exchangeOf(['Cache-Control', 'max-age=0']))
  stage.store.setMaxBytes(0) // others take its place
  stage.store.setMaxBytes(1024 * 1024)
  const follower = stage.handle(exchangeOf())

  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'private', 'ETag', '"a"'], '', 304))
  await stage.sent[2]?.respond(createResponse([], 'of the follower'))

  expect([textOf(await asked), textOf(await follower)]).toEqual(['body', 'of the follower'])
})

// The attack: whoever has the upstream refuse his request, by a field that is too long say, every few seconds, would have a key cached no more.
test.each([400, 429, 431])(
  'a %i that anybody can bring about says nothing of what is stored, nor of the key',
  async (status) => {
    const stage = opened()
    await storing(stage, ['Cache-Control', 'max-age=60', 'ETag', '"a"'])
    vi.advanceTimersByTime(61 * seconds)
    const refused = stage.handle(exchangeOf())
    await stage.sent[1]?.respond(createResponse([], 'refused', status))

    const asked = [stage.handle(exchangeOf()), stage.handle(exchangeOf())]
    await stage.sent[2]?.respond(createResponse(['Cache-Control', 'max-age=60', 'ETag', '"a"'], '', 304))

    expect((await refused).status).toBe(status)
    expect((await Promise.all(asked)).map(textOf)).toEqual(['body', 'body'])
    expect(stage.sent).toHaveLength(3)
  },
)

test('trouble says nothing of what is stored, nor of the key', async () => {
  const stage = opened()
  await storing(stage, ['Cache-Control', 'max-age=60, must-revalidate', 'ETag', '"a"'])
  vi.advanceTimersByTime(61 * seconds)
  const failed = stage.handle(exchangeOf())
  await stage.sent[1]?.respond(createResponse([], 'trouble', 503))

  const asked = [stage.handle(exchangeOf()), stage.handle(exchangeOf())]
  await stage.sent[2]?.respond(createResponse(['Cache-Control', 'max-age=60', 'ETag', '"a"'], '', 304))

  expect((await failed).status).toBe(503)
  expect((await Promise.all(asked)).map(textOf)).toEqual(['body', 'body'])
  expect(stage.sent).toHaveLength(3)
})

test('the upstream is asked in the name of the client whose answer it is', () => {
  const stage = opened()
  const exchange = exchangeOf()
  exchange.identity = { client: 'ann', method: 'apiKey' }

  void stage.handle(exchange)

  expect(stage.sent[0]?.exchange).not.toBe(exchange)
  expect(stage.sent[0]?.exchange.identity).toBe(exchange.identity)
})

test('a refresh that grows too long is ended: nobody reads it', async () => {
  const stage = opened({ maxEntry: 8 * 1024, staleWhileRevalidate: 60 * seconds })
  await storing(stage, ['Cache-Control', 'max-age=60'])
  vi.advanceTimersByTime(61 * seconds)
  await stage.handle(exchangeOf())
  const body = new FedBody()
  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'max-age=60'], body))

  body.feed('x'.repeat(5000))
  const early = stage.sent[1]?.exchange.aborted
  body.feed('x'.repeat(5000))

  expect([early, stage.sent[1]?.exchange.aborted?.kind]).toEqual([null, 'client-gone'])
  expect([stage.part.entries, stage.store.bytes]).toEqual([0, 0])
})

test('refreshes that are over make room for others', async () => {
  const stage = opened({ staleWhileRevalidate: 3600 * seconds })
  await storing(stage, ['Cache-Control', 'max-age=1', 'ETag', '"a"'])

  for (let i = 1; i <= 110; i++) {
    vi.advanceTimersByTime(2 * seconds)
    await stage.handle(exchangeOf())
    await stage.sent[i]?.respond(createResponse(['Cache-Control', 'max-age=1', 'ETag', '"a"'], '', 304))
  }

  expect(stage.sent).toHaveLength(111)
})

// The attack: ask by a field that the upstream never answers. Whoever asked for the same would wait with it.
test('who comes when a fetch has been waited for too long asks anew, and those after him wait for that', async () => {
  const stage = opened()
  const hung = stage.handle(exchangeOf(['X-Hang', 'yes']))
  vi.advanceTimersByTime(5 * seconds)

  const asked = [stage.handle(exchangeOf()), stage.handle(exchangeOf())]
  await stage.sent[1]?.respond(createResponse(['Cache-Control', 'max-age=60'], 'at once'))
  const after = stage.handle(exchangeOf())

  expect((await Promise.all([...asked, after])).map(textOf)).toEqual(['at once', 'at once', 'at once'])
  expect(stage.sent).toHaveLength(2)
  await stage.sent[0]?.respond(createResponse([], 'late'))
  expect(textOf(await hung)).toBe('late')
})
