import { expect, test } from 'vitest'
import { type FailureReason, reasonTable } from '../../../../src/core/exchange/failures/errors.ts'
import { AbandonedAttempts } from '../../../../src/features/idempotency/claimed-attempt.ts'
import { MemoryIdempotencyStore } from '../../../../src/features/idempotency/store/memory-idempotency-store.ts'
import { fakeBody, fakeExchange } from '../../../helpers/exchange.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { fieldValues } from '../../../helpers/wire.ts'
import { createClaim } from '../idempotency-claim.ts'
import { headOf, once, openHeldUpstream, post, send, told } from '../wire/keyed-post.ts'

// The attack: more keys, or more requests, than can be remembered.
test('a client that makes up keys has no more than its share, and others find room', () => {
  const store = new MemoryIdempotencyStore({ maxEntries: 200, maxBytes: 1024 ** 2 })
  const claim = (client: string) => store.reply({ type: 'claim', claim: createClaim({ client, maxKeys: 100 }) })

  for (let nth = 0; nth < 1000; nth++) claim('hoarder')

  expect(store.state()).toMatchObject({ entries: 100, rejected: 900 })
  expect([claim('hoarder'), claim('another')]).toEqual([{ state: 'full', of: 'client' }, { state: 'claimed' }])
})

test('a stranger that makes up a credential for each key has the share of its address, and others find room', async () => {
  const listen = { trustedProxies: ['127.0.0.1'] }
  const { port, line } = await bootGateway({ ...once, listen, idempotency: { maxEntries: 100 } })
  const ask = async (address: string, nth: number): Promise<number> => {
    const fields = ['Authorization', `Bearer c${nth}`, 'X-Forwarded-For', address]
    return (await send(port, `k${nth}`, { fields })).status
  }

  const statuses: number[] = []
  for (let nth = 0; nth < 51; nth++) statuses.push(await ask('192.0.2.1', nth))

  expect(statuses).toEqual([...Array(50).fill(200), 429])
  expect(await ask('192.0.2.2', 0)).toBe(200)
  const { reason } = await line(({ status }) => status === 429)
  expect(reasonTable[reason as FailureReason].text).toContain('idempotency.maxEntries')
})

test('a client that has used up its keys is told so, and another is served', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const { port } = await bootGateway({ upstream: upstream.url, ...once, idempotency: { maxKeysPerClient: 3 } })

  const got: string[] = []
  for (const key of ['a', 'b', 'c', 'd', 'a']) got.push(await post(port, key))
  const rejected = await send(port, 'e')
  const other = await post(port, 'e', { fields: ['Authorization', 'Bearer b'] })

  expect([...got, told(rejected), other]).toEqual([
    ...['200 done', '200 done', '200 done', '429 rate-limited', '200 done replayed'],
    ...['429 rate-limited', '200 done'],
  ])
  expect(fieldValues(rejected.fields, 'retry-after')).toEqual(['60'])
})

test('a client that sends 100 requests with one key and leaves has one processed', async () => {
  const { upstream, release } = await openHeldUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, ...once })

  const clients = await Promise.all(Array.from({ length: 5 }, () => rawClient(port)))
  for (const client of clients) client.send(`${headOf('k', 3)}abc`.repeat(20))
  // One of them waits for its first response.
  const rejected = () => clients.filter((client) => client.received().includes('409')).length
  await expect.poll(rejected).toBeGreaterThanOrEqual(4)
  for (const client of clients) client.close()
  await expect.poll(() => upstream.begun()).toBe(1)
  release()

  await expect.poll(() => post(port, 'k')).toBe('200 done replayed')
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

// The attack: a request with a key whose body does not arrive, so that the key is taken as long as possible.
const gateway = liveGatewayForAll(once)

test('a request does not take its key before its body is there', async () => {
  gateway.respondWith((_, response) => response.end('done'))
  const slow = await rawClient(gateway.port)

  slow.send(`${headOf('k', 3)}ab`)
  const quick = await post(gateway.port, 'k')
  slow.send('c')
  const late = await slow.until((text) => text.includes('done'))

  expect(quick).toBe('200 done')
  expect(late.toLowerCase()).toContain('idempotency-replayed: true')
  expect(gateway.received()).toHaveLength(1)
  slow.close()
})

test('a request over maxBody takes its key at once, since it streams: only its own client waits for it', async () => {
  gateway.respondWith((_, response) => response.end('done'))
  const slow = await rawClient(gateway.port)

  slow.send(headOf('long', 100_000))
  slow.send('a'.repeat(50_000))
  await expect.poll(() => gateway.begun()).toBe(1)
  const got = [await post(gateway.port, 'long'), await post(gateway.port, 'long', { fields: ['Authorization', 'b'] })]

  expect(got).toEqual(['409 request-in-progress', '200 done'])
  slow.close()
})
