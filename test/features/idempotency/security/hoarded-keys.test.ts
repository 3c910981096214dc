import { expect, test, vi } from 'vitest'
import { type FailureReason, reasonTable } from '../../../../src/core/exchange/failures/errors.ts'
import { AbandonedAttempts } from '../../../../src/features/idempotency/claimed-attempt.ts'
import { MemoryIdempotencyStore } from '../../../../src/features/idempotency/store/memory-idempotency-store.ts'
import { fakeBody, fakeExchange } from '../../../helpers/exchange.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

// The attack: more keys, or more requests, than can be remembered.
const operations = { 'valuation.score': { idempotency: true } }

const request = (key: string) => ({
  method: 'POST',
  target: '/valuation/score',
  fields: ['Idempotency-Key', key],
  body: Buffer.from('abc'),
})

test('a client that makes up keys has no more than its share, and others find room', () => {
  const store = new MemoryIdempotencyStore({ maxEntries: 200, maxBytes: 1024 ** 2 })
  const claimOf = (client: string, nth: number) => ({
    type: 'claim' as const,
    claim: {
      client,
      share: client,
      name: `${client} ${nth}`,
      token: 't',
      fingerprint: null,
      requestId: 'r',
      ttlMs: 86_400_000,
      leaseMs: 15_000,
      takesOver: false,
      maxKeys: 100,
    },
  })

  for (let nth = 0; nth < 1000; nth++) store.reply(claimOf('hoarder', nth))

  expect(store.state()).toMatchObject({ entries: 100, refused: 900 })
  expect(store.reply(claimOf('hoarder', 1000))).toEqual({ state: 'full', of: 'client' })
  expect(store.reply(claimOf('another', 0))).toEqual({ state: 'claimed' })
})

test('a stranger that makes up a credential for each key has the share of its address, and others find room', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({
    upstream: upstream.url,
    operations,
    idempotency: { maxEntries: 100 },
    listen: { trustedProxies: ['127.0.0.1'] },
  })
  const ask = async (address: string, key: string, credential: string): Promise<number> => {
    const fields = ['Idempotency-Key', key, 'Authorization', `Bearer ${credential}`, 'X-Forwarded-For', address]
    return (await call(port, { ...request(key), fields })).status
  }

  const statuses: number[] = []
  for (let nth = 0; nth < 51; nth++) statuses.push(await ask('192.0.2.1', `k${nth}`, `c${nth}`))
  const ofAnother = await ask('192.0.2.2', 'k', 'c')
  const repeated = await ask('192.0.2.1', 'k0', 'c0')

  expect([200, 429, 503].map((status) => statuses.filter((each) => each === status).length)).toEqual([50, 1, 0])
  expect([ofAnother, repeated]).toEqual([200, 200])
  expect(upstream.requests).toHaveLength(51)
})

test('a client that has used up its keys is told so, and another is served', async () => {
  const upstream = await httpUpstream()
  const idempotency = { maxKeysPerClient: 3 }
  const { port } = await bootGateway({ upstream: upstream.url, operations, idempotency })

  const statuses: number[] = []
  for (const key of ['a', 'b', 'c', 'd', 'a']) statuses.push((await call(port, request(key))).status)
  const refused = await call(port, request('e'))
  const other = await call(port, { ...request('e'), fields: ['Idempotency-Key', 'e', 'Authorization', 'Bearer b'] })

  expect(statuses).toEqual([200, 200, 200, 429, 200])
  expect(JSON.parse(refused.body.toString())).toMatchObject({ code: 'rate-limited' })
  expect(fieldValues(refused.fields, 'retry-after')).toEqual(['60'])
  expect(other.status).toBe(200)
  expect(upstream.requests).toHaveLength(4)
})

test('a client that has half of all keys is told of the bound that it has reached', async () => {
  const { port, line } = await bootGateway({ operations, idempotency: { maxEntries: 100 } })

  for (let nth = 0; nth < 50; nth++) await call(port, request(`k${nth}`))
  const refused = await call(port, request('one more'))

  expect(refused.status).toBe(429)
  const { reason } = await line(({ status }) => status === 429)
  expect(reasonTable[reason as FailureReason].text).toContain('idempotency.maxEntries')
})

test('a client that sends 100 requests with one key and leaves has one processed', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => void released.then(() => response.end('done')))
  const { port } = await bootGateway({ upstream: upstream.url, operations })
  const one = 'POST /valuation/score HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 3\r\n\r\nabc'

  const clients = await Promise.all(Array.from({ length: 5 }, () => rawClient(port)))
  for (const client of clients) client.send(one.repeat(20))
  // One of them waits for its first response.
  await vi.waitFor(() => {
    expect(clients.filter((client) => client.received().includes('409')).length).toBeGreaterThanOrEqual(4)
  }, 30_000)
  for (const client of clients) client.close()
  await expect.poll(() => upstream.begun()).toBe(1)
  release()

  await vi.waitFor(async () => {
    const { status, fields } = await call(port, request('k'))
    expect([status, fieldValues(fields, 'idempotency-replayed')]).toEqual([200, ['true']])
  }, 30_000)
  expect(upstream.begun()).toBe(1)
})

const attemptOf = (client: string, bytes: number) => fakeExchange({ client, body: fakeBody(bytes) })

test('a client that leaves again and again has no more than its share of what goes on without a client', () => {
  const abandoned = new AbandonedAttempts()
  const [many, large] = [Array.from({ length: 1000 }), 16 * 1024 ** 2]

  const ofOne = many.flatMap(() => abandoned.add(attemptOf('a', 0)) ?? [])
  const ofAnother = abandoned.add(attemptOf('b', 0))
  for (const release of ofOne) release()
  const largeOfOne = many.flatMap(() => abandoned.add(attemptOf('a', large)) ?? [])
  const largeOfAnother = abandoned.add(attemptOf('b', large))

  expect([ofOne.length, largeOfOne.length]).toEqual([500, 2])
  expect([ofAnother, largeOfAnother]).not.toContain(null)
})

test('no more than 1,000 requests go on without their client', () => {
  const abandoned = new AbandonedAttempts()

  const added = Array.from({ length: 1001 }, (_, nth) => abandoned.add(attemptOf(`client ${nth}`, 0)))
  added[0]?.()

  expect(added.filter(Boolean)).toHaveLength(999)
  const more = ['another', 'one more'].map((client) => abandoned.add(attemptOf(client, 0)) !== null)
  expect(more).toEqual([true, false])
})

test('requests that go on without their client hold no more than 64 MiB of bodies', () => {
  const abandoned = new AbandonedAttempts()
  const large = 16 * 1024 * 1024

  const added = ['a', 'b', 'c', 'd', 'e'].map((client) => abandoned.add(attemptOf(client, large)))
  added[0]?.()

  expect(added.map((each) => each !== null)).toEqual([true, true, true, false, false])
  const more = [large + 1, large].map((bytes) => abandoned.add(attemptOf('e', bytes)) !== null)
  expect(more).toEqual([false, true])
})
