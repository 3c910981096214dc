/** Which endpoints are probed, over edits: each that receives traffic once, and no other. */
import { expect, test } from 'vitest'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const healthCheck = { path: '/health', interval: '100ms' }

test('an endpoint that an edit takes away is not probed while it finishes what it has', async () => {
  const release = Promise.withResolvers<void>()
  const old = await httpUpstream(({ url }, response) => {
    if (url === '/health') response.end()
    else void release.promise.then(() => response.end('late'))
  })
  const other = await httpUpstream()
  const live = await bootLiveGateway({ upstreams: { market: { endpoints: [old.url], healthCheck } } })
  const call = fetch(`${live.url}/market/insights`)
  await expect.poll(() => old.requests.some(({ url }) => url === '/market/insights')).toBe(true)

  live.edit({ upstreams: { market: { endpoints: [other.url], healthCheck } } })
  await live.gateway.reload('request')
  const probed = old.begun()
  await expect.poll(other.begun).toBeGreaterThanOrEqual(5)
  const since = old.begun() - probed
  release.resolve()

  expect(since).toBeLessThanOrEqual(1) // one may have been on its way
  expect(await (await call).text()).toBe('late')
})

test('an endpoint is probed once at a time, however many edits leave it as it is', async () => {
  const upstream = await httpUpstream()
  const market = (weight: number) => ({ endpoints: [{ url: upstream.url, weight }], healthCheck })
  const live = await bootLiveGateway({ upstreams: { market: market(1) } })

  const startedAt = performance.now()
  for (let weight = 2; weight <= 4; weight++) {
    live.edit({ upstreams: { market: market(weight) } })
    await live.gateway.reload('request')
  }
  await expect.poll(upstream.begun).toBeGreaterThanOrEqual(5)

  const max = (performance.now() - startedAt) / 90 + 2 // 100 ms less 10 %, and what was before
  expect(upstream.begun()).toBeLessThanOrEqual(Math.ceil(max))
})
