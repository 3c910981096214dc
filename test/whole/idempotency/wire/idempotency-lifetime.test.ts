import { expect, test } from 'vitest'
import { abandon, left, once, openHeldUpstream, post } from '../../../features/idempotency/wire/keyed-post.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

test('an operation that is taken out of service replays nothing, and replays again when it is back', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const live = await bootLiveGateway({ upstream: upstream.url, ...once })
  const body = JSON.stringify({ operation: 'valuation.score' })

  const got = [await post(live.port, 'a')]
  await fetchAdmin(`${live.admin}/operations/reject`, 'POST', { body })
  got.push(await post(live.port, 'a'))
  await fetchAdmin(`${live.admin}/operations/serve`, 'POST', { body })
  got.push(await post(live.port, 'a'))

  expect(got).toEqual(['200 done', '503 rejected-by-operator', '200 done replayed'])
})

test('a gateway that stops waits for an abandoned attempt, as for every request', async () => {
  const { upstream, release } = await openHeldUpstream()
  const live = await bootLiveGateway({ upstream: upstream.url, ...once, shutdown: { deadline: '30s' } })
  let isClosed = false

  await abandon(live.port, 'a', () => upstream.requests.length === 1)
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

  await abandon(live.port, 'a', () => upstream.requests.length === 1)
  await left(live)
  const closed = live.gateway.close()
  release()
  await closed

  expect(upstream.requests).toHaveLength(2)
})
