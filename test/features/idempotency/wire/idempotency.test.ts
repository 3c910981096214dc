/** Idempotency keys over sockets; `idempotency-profiles.test.ts` checks two published rules. */
import { expect, test } from 'vitest'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { abandon, once, post } from './keyed-post.ts'

const waiting = { target: '/valuation/forecast' }
const gateway = liveGatewayForAll({
  operations: { ...once.operations, 'valuation.forecast': { idempotency: { wait: '30s' } } },
})

/** Has the upstream respond when it is told to. */
const hold = (): (() => void) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  gateway.respondWith((_, response) => void released.then(() => response.end('done')))
  return release
}

test('a repetition that may wait for the first has its response', async () => {
  const release = hold()
  const first = post(gateway.port, 'k-1', waiting)
  await expect.poll(() => gateway.begun()).toBe(1)
  const second = post(gateway.port, 'k-1', waiting)
  release()

  expect(await Promise.all([first, second])).toEqual(['200 done', '200 done replayed'])
  expect(gateway.received()).toHaveLength(1)
})

test('a repetition has the response of the first also when the client of the first has left', async () => {
  const release = hold()
  await abandon(gateway.port, 'k-2', () => gateway.begun() === 1)
  const meanwhile = await post(gateway.port, 'k-2')
  release()

  expect(meanwhile).toBe('409 request-in-progress')
  await expect.poll(() => post(gateway.port, 'k-2')).toBe('200 done replayed')
  expect(gateway.received()).toHaveLength(1)
})

test.each([
  ['of a known length', {}],
  ['in chunks', { chunkBytes: 50_000 }],
])('a body over maxBody, %s, is compared with its repetition', async (what, how) => {
  gateway.respondWith((_, response) => response.end('done'))
  const send = (letter: string) => post(gateway.port, what, { body: Buffer.alloc(200_000, letter), ...how })

  const got = [await send('a'), await send('a'), await send('b')]

  expect(got).toEqual(['200 done', '200 done replayed', '422 idempotency-key-reused'])
  expect(gateway.received()).toHaveLength(1)
})

test('a response over maxResponse is passed on, and its repetition is told that it is not kept', async () => {
  const long = 'x'.repeat(200_000)
  gateway.respondWith((_, response) => response.end(long))

  const got = [await post(gateway.port, 'k-3'), await post(gateway.port, 'k-3')]

  expect(got).toEqual([`200 ${long}`, '409 response-not-kept'])
  expect(gateway.received()).toHaveLength(1)
})

test('a status that says that nothing was done frees the key, and one of what was done does not', async () => {
  gateway.respondWith(({ body }, response) => response.writeHead(Number(body)).end())
  const send = (status: string) => post(gateway.port, status, { body: Buffer.from(status) })

  const got = [await send('429'), await send('429'), await send('303'), await send('303')]

  expect(got).toEqual(['429 ', '429 ', '303 ', '303  replayed'])
})

test('without a key a POST passes as often as it comes, unless one is required', async () => {
  gateway.respondWith((_, response) => response.end('done'))

  expect([await post(gateway.port, null), await post(gateway.port, null)]).toEqual(['200 done', '200 done'])
  expect(gateway.received()).toHaveLength(2)
})
