/** A key of idempotency over the life of a gateway: edits, commands, and its end. */
import { expect, test, vi } from 'vitest'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

const operations = { 'valuation.score': { idempotency: true } }

const post = async ({ gateway }: LiveGateway, key: string) => {
  const { status, fields, body } = await call(gateway.address.port, {
    method: 'POST',
    target: '/valuation/score',
    fields: ['Idempotency-Key', key],
    body: Buffer.from('abc'),
  })
  const isReplayed = fieldValues(fields, 'idempotency-replayed').length > 0
  return `${status} ${status >= 400 ? JSON.parse(body.toString()).code : body}${isReplayed ? ' replayed' : ''}`
}

/** Sends a request whose client leaves once the upstream has it. */
const abandon = async ({ gateway }: LiveGateway, key: string, isThere: () => boolean): Promise<void> => {
  const client = await rawClient(gateway.address.port)
  client.send(`POST /valuation/score HTTP/1.1\r\nHost: a\r\nIdempotency-Key: ${key}\r\nContent-Length: 3\r\n\r\nabc`)
  await vi.waitFor(() => expect(isThere()).toBe(true), 30_000)
  client.close()
}

/** Opens an upstream that answers when it is told to. */
const openHeldUpstream = async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => void released.then(() => response.end('done')))
  return { upstream, release }
}

const left = (live: LiveGateway) => live.line(({ msg, failure }) => msg === 'exchange' && failure === 'client-gone')

test('an edit that takes the endpoint away lets an abandoned attempt end, and its outcome is known afterwards', async () => {
  const { upstream, release } = await openHeldUpstream()
  const other = await httpUpstream((_, response) => response.end('other'))
  const live = await bootLiveGateway({ upstream: upstream.url, operations })

  await abandon(live, 'a', () => upstream.requests.length === 1)
  await left(live)
  live.edit({ upstream: other.url, operations })
  await fetchAdmin(`${live.admin}/reload`, 'POST')
  const meanwhile = await post(live, 'a')
  const another = await post(live, 'b')
  release()

  expect([meanwhile, another]).toEqual(['409 request-in-progress', '200 other'])
  await expect.poll(() => post(live, 'a')).toBe('200 done replayed')
  await expect.poll(() => upstream.connections()).toBe(0)
  await expect.poll(async () => (await fetchAdmin(`${live.admin}/status`)).body.retiring).toBe(0)
  expect([upstream.requests.length, other.requests.length]).toEqual([1, 1])
})

test('an edit keeps what is remembered, and an operation that loses its idempotency and gets it back has it still', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const live = await bootLiveGateway({ upstream: upstream.url, operations })
  const reload = async (settings: object) => {
    live.edit({ upstream: upstream.url, ...settings })
    await fetchAdmin(`${live.admin}/reload`, 'POST')
  }

  const first = await post(live, 'a')
  await reload({})
  const unprotected = await post(live, 'a')
  await reload({ operations })
  const last = await post(live, 'a')

  expect([first, unprotected, last]).toEqual(['200 done', '200 done', '200 done replayed'])
})

test('an operation that is taken out of service replays nothing, and replays again when it is back', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const live = await bootLiveGateway({ upstream: upstream.url, operations })
  const body = JSON.stringify({ operation: 'valuation.score' })

  const got = [await post(live, 'a')]
  await fetchAdmin(`${live.admin}/operations/refuse`, 'POST', { body })
  got.push(await post(live, 'a'))
  await fetchAdmin(`${live.admin}/operations/serve`, 'POST', { body })
  got.push(await post(live, 'a'))

  expect(got).toEqual(['200 done', '503 refused-by-operator', '200 done replayed'])
})

test('a gateway that stops waits for an abandoned attempt, as for every request', async () => {
  const { upstream, release } = await openHeldUpstream()
  const live = await bootLiveGateway({ upstream: upstream.url, operations, shutdown: { deadline: '30s' } })
  let isClosed = false

  await abandon(live, 'a', () => upstream.requests.length === 1)
  await left(live)
  const closed = live.gateway.close().then(() => {
    isClosed = true
  })
  await expect.poll(() => fetch(live.url).catch(() => 'closed')).toBe('closed')
  const wasClosed = isClosed
  const connections = upstream.connections()
  release()
  await closed

  expect([wasClosed, connections]).toEqual([false, 1])
})

test('a gateway that stops waits for an abandoned attempt that is to be repeated', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const upstream = await httpUpstream(async (_, response) => {
    await released
    response.writeHead(upstream.requests.length === 1 ? 503 : 200, { 'Retry-After': '1' }).end('done')
  })
  const live = await bootLiveGateway({
    upstream: upstream.url,
    defaults: { retry: {} },
    operations: { 'valuation.score': { idempotency: { onUnknown: 'forward' } } },
    shutdown: { wait: '1ms', deadline: '30s' },
  })

  await abandon(live, 'a', () => upstream.requests.length === 1)
  await left(live)
  const closed = live.gateway.close()
  release()
  await closed

  expect(upstream.requests).toHaveLength(2)
})

test('a request that the gateway cuts at its end has the gateway’s reason, with a key and without', async () => {
  const { upstream } = await openHeldUpstream()
  const live = await bootLiveGateway({
    upstream: upstream.url,
    operations,
    shutdown: { wait: '1ms', deadline: '100ms' },
  })
  for (const field of ['', 'Idempotency-Key: a\r\n']) {
    const client = await rawClient(live.gateway.address.port)
    client.send(`POST /valuation/score HTTP/1.1\r\nHost: a\r\n${field}Content-Length: 3\r\n\r\nabc`)
  }
  await expect.poll(() => upstream.requests.length).toBe(2)

  await live.gateway.close()

  const lines = live.lines.filter(({ msg }) => msg === 'exchange')
  expect(lines.map(({ failure, reason, fault, level }) => [failure, reason, fault, level])).toEqual(
    Array(2).fill(['client-gone', 'shutdown-deadline', 'gateway', 40]),
  )
})

test('a gateway that remembers in memory has forgotten every key when it starts again', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const before = await bootLiveGateway({ upstream: upstream.url, operations })

  const first = await post(before, 'a')
  await before.gateway.close()
  const after = await bootLiveGateway({ upstream: upstream.url, operations })

  expect([first, await post(after, 'a')]).toEqual(['200 done', '200 done'])
})
