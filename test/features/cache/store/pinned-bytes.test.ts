import { expect, test } from 'vitest'
import type { Exchange, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { Client, createResponse, FedBody, openCache } from '../helper.ts'

const bodyBytes = 100 * 1024
const maxBytes = 1024 * 1024

const fresh = ['Cache-Control', 'max-age=60', 'ETag', '"a"']

const boot = () => {
  const stage = openCache({ maxEntry: 2 * bodyBytes }, maxBytes)
  const ask = (query: string, fields: readonly string[] = []) => {
    const exchange = fakeExchange({ query, fields: [...fields] })
    return { exchange, response: stage.handle(exchange) }
  }
  /** Fetches what is not stored; its body is complete, and unread. */
  const fetch = async (query: string): Promise<{ readonly exchange: Exchange; readonly response: ProxyResponse }> => {
    const { exchange, response } = ask(query)
    const body = new FedBody()
    await stage.sent.at(-1)?.respond(createResponse([...fresh, 'Content-Length', String(bodyBytes)], body))
    body.feed('a'.repeat(bodyBytes)).end()
    return { exchange, response: await response }
  }
  return { ...stage, ask, fetch }
}

// The attack: fetch one thing after the other and read none of them. A body that makes room for the next stays in
// memory for the client that does not read.
test('a body that has left the store counts as long as a client reads it, and no more is taken than there is room for', async () => {
  const { fetch, store, partition } = boot()

  const unread = []
  for (let nth = 0; nth < 50; nth++) unread.push(await fetch(`?nth=${nth}`))
  const inMemory = unread.filter(({ response }) => response.body.isShared).length
  const bytes = store.bytes
  for (const { exchange } of unread) exchange.finish()

  expect(inMemory * bodyBytes).toBeLessThanOrEqual(maxBytes)
  expect(bytes).toBeLessThanOrEqual(maxBytes)
  expect(store.bytes).toBe(partition.bytes)
  expect((await fetch('?nth=again')).response.body.isShared).toBe(true)
})

test('a body that is read from the store counts once, and on after a purge, until all have it', async () => {
  const { ask, fetch, store, partition } = boot()
  const first = await fetch('')
  new Client(first.response.body)
  first.exchange.finish()
  const stored = store.bytes
  const hits = [ask(''), ask('')]
  await Promise.all(hits.map(({ response }) => response))

  const whileRead = store.bytes
  store.purge({ operation: null, client: null })
  const purged = [partition.bytes, store.bytes]
  hits[0]?.exchange.finish()
  const oneLeft = store.bytes
  hits[1]?.exchange.finish()

  expect([whileRead, ...purged, oneLeft, store.bytes]).toEqual([stored, 0, bodyBytes, bodyBytes, 0])
})

test('a body that is validated while it is read does not count twice', async () => {
  const { ask, fetch, store, sent } = boot()
  await fetch('')
  const stored = store.bytes
  const { exchange, response } = ask('', ['Cache-Control', 'no-cache'])

  await sent.at(-1)?.respond(createResponse(fresh, '', 304))
  await response

  expect(store.bytes).toBe(stored)
  exchange.finish()
  expect(store.bytes).toBe(stored)
})
