import { expect, test } from 'vitest'
import type { Answer, Exchange } from '../../../src/exchange.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { answerOf, Client, FedBody, opened } from './helper.ts'

const bodyBytes = 100 * 1024
const maxBytes = 1024 * 1024

const fresh = ['Cache-Control', 'max-age=60', 'ETag', '"a"']

const boot = () => {
  const stage = opened({ maxEntry: 2 * bodyBytes }, maxBytes)
  const ask = (query: string, fields: readonly string[] = []) => {
    const exchange = fakeExchange({ query, fields: [...fields] })
    return { exchange, answer: stage.handle(exchange) }
  }
  /** Asks for what is not stored; nobody has read it when it is all there. */
  const fetch = async (query: string): Promise<{ readonly exchange: Exchange; readonly answer: Answer }> => {
    const { exchange, answer } = ask(query)
    const body = new FedBody()
    await stage.sent.at(-1)?.answer(answerOf([...fresh, 'Content-Length', String(bodyBytes)], body))
    body.feed('a'.repeat(bodyBytes)).end()
    return { exchange, answer: await answer }
  }
  return { ...stage, ask, fetch }
}

// The attack: ask for one thing after the other and read none of them. What makes room for the next stays in memory for whoever does not read.
test('what has left the store counts as long as a client reads it, and no more is taken than there is room for', async () => {
  const { fetch, store, part } = boot()

  const unread = []
  for (let nth = 0; nth < 50; nth++) unread.push(await fetch(`?nth=${nth}`))
  const inMemory = unread.filter(({ answer }) => answer.body.lasting).length
  const bytes = store.bytes
  for (const { exchange } of unread) exchange.over()

  expect(inMemory * bodyBytes).toBeLessThanOrEqual(maxBytes)
  expect(bytes).toBeLessThanOrEqual(maxBytes)
  expect(store.bytes).toBe(part.bytes)
  expect((await fetch('?nth=again')).answer.body.lasting).toBe(true)
})

test('a body that is read from the store counts once, and on after it was cleared, until all have it', async () => {
  const { ask, fetch, store, part } = boot()
  const first = await fetch('')
  new Client(first.answer.body)
  first.exchange.over()
  const stored = store.bytes
  const hits = [ask(''), ask('')]
  await Promise.all(hits.map(({ answer }) => answer))

  const whileRead = store.bytes
  store.clear({ operation: null, client: null })
  const cleared = [part.bytes, store.bytes]
  hits[0]?.exchange.over()
  const oneLeft = store.bytes
  hits[1]?.exchange.over()

  expect([whileRead, ...cleared, oneLeft, store.bytes]).toEqual([stored, 0, bodyBytes, bodyBytes, 0])
})

test('one that is validated while it is read is not counted twice', async () => {
  const { ask, fetch, store, sent } = boot()
  await fetch('')
  const stored = store.bytes
  const { exchange, answer } = ask('', ['Cache-Control', 'no-cache'])

  await sent.at(-1)?.answer(answerOf(fresh, '', 304))
  await answer

  expect(store.bytes).toBe(stored)
  exchange.over()
  expect(store.bytes).toBe(stored)
})
