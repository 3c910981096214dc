/** The candidate of a group as a running upstream: its endpoints, its breaker and its probes are its own. */

import { expect, onTestFinished, test } from 'vitest'
import { EndpointRegistry, type HealthVerdict } from '../../../../src/core/upstream/endpoints/endpoint-registry.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { testConfig } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

interface SideStatus {
  readonly endpoints: readonly { readonly url: string; readonly state: string; readonly requests: number }[]
  readonly breaker: { readonly state: string; readonly since: string } | null
}

type GroupStatus = SideStatus & { readonly candidate: SideStatus | null }

const sides = async ({ admin }: LiveGateway): Promise<Readonly<Record<string, GroupStatus>>> => {
  const { body } = await fetchAdmin(`${admin}/status`)
  return (body as unknown as { readonly upstreams: Readonly<Record<string, GroupStatus>> }).upstreams
}

const market = async (live: LiveGateway): Promise<GroupStatus> => (await sides(live)).market as GroupStatus

const reload = async (live: LiveGateway, upstreams: object): Promise<void> => {
  live.edit({ upstreams: { ...upstreams } })
  expect((await live.gateway.reload('request')).result).toBe('applied')
}

const healthCheck = { path: '/health', interval: '100ms', unhealthyAfter: 1 }

test('a candidate with a share of 0 gets health checks and no request; when it is down, the primary serves', async () => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const onBothSides = await httpUpstream(({ url }, response) => {
    response.writeHead(url === '/candidate' ? 500 : 200).end()
  })
  const elsewhere = { endpoints: [onBothSides.url], healthCheck: { path: '/candidate' } }
  const live = await bootLiveGateway({
    upstreams: {
      market: { endpoints: [primary.url], healthCheck, candidate: { endpoints: [candidate.url] } },
      leads: { endpoints: [onBothSides.url], healthCheck, candidate: elsewhere },
      inventory: { endpoints: ['sandbox'], candidate: 'http://nowhere.invalid:1' },
    },
  })

  for (let i = 0; i < 5; i++) expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
  await expect.poll(candidate.begun).toBeGreaterThanOrEqual(2)
  const down = await live.line(({ msg }) => msg === 'endpoint down')
  const unresolved = await live.line(({ msg }) => msg === 'endpoint not resolved')

  expect(new Set(candidate.requests.map(({ url }) => url))).toEqual(new Set(['/health']))
  const idle = { inFlight: 0, balance: 'p2c', breaker: null }
  expect(await sides(live)).toMatchObject({
    market: {
      endpoints: [{ url: primary.url, requests: 5 }],
      candidate: { ...idle, endpoints: [{ url: candidate.url, state: 'up', requests: 0 }] },
    },
    leads: { endpoints: [{ state: 'up' }], candidate: { endpoints: [{ state: 'down' }] } },
  })
  expect(down).toMatchObject({ group: 'leads', side: 'candidate', endpoint: onBothSides.url })
  expect(unresolved).toMatchObject({ group: 'inventory', side: 'candidate' })
  await expect.poll(async () => (await sides(live)).inventory?.candidate?.endpoints[0]?.state).toBe('down')
  for (const url of [`${live.admin}/ready`, `${live.url}/leads/pipeline`]) expect((await fetch(url)).status).toBe(200)
  expect((await fetch(`${live.url}/inventory/sync`, { method: 'POST' })).status).toBe(200)
})

test('edits add, swap and promote a candidate, and each side is probed by its own health check', async () => {
  const [one, other] = [await httpUpstream(), await httpUpstream()]
  const sides = (first: string, second: string | null) => ({
    market: {
      endpoints: [first],
      healthCheck: { ...healthCheck, path: '/primary' },
      ...(second && { candidate: { endpoints: [second], healthCheck: { path: '/candidate' } } }),
    },
  })
  const isProbed = ({ requests }: typeof one, path: string) => expect.poll(() => requests.at(-1)?.url).toBe(path)
  const live = await bootLiveGateway({ upstreams: sides(one.url, null) })
  expect((await market(live)).candidate).toBeNull()

  await reload(live, sides(one.url, other.url))
  await isProbed(other, '/candidate')
  await reload(live, sides(other.url, one.url))
  await isProbed(one, '/candidate')
  await isProbed(other, '/primary')
  await reload(live, sides(one.url, null))
  await isProbed(one, '/primary')

  expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
  expect(one.requests.some(({ url }) => url === '/market/insights')).toBe(true)
  expect(await market(live)).toMatchObject({ endpoints: [{ url: one.url, state: 'up' }], candidate: null })
  await expect.poll(other.connections).toBe(0)
})

test("the candidate's breaker survives an edit of another key, and not of its rules or endpoints", async () => {
  const settings = (url: string, weight: number, circuitBreaker: object) => ({
    market: { endpoints: ['sandbox'], candidate: { endpoints: [{ url, weight }], circuitBreaker } },
  })
  const live = await bootLiveGateway({ upstreams: settings('http://127.0.0.1:2', 100, {}) })
  const since = async () => (await market(live)).candidate?.breaker?.since
  const isCarriedOver = async (next: object): Promise<boolean> => {
    const before = await since()
    await expect.poll(() => new Date().toISOString()).not.toBe(before) // a new one would have another time
    await reload(live, next)
    return (await since()) === before
  }

  expect(await isCarriedOver(settings('http://127.0.0.1:2', 7, {}))).toBe(true)
  expect(await isCarriedOver(settings('http://127.0.0.1:2', 7, { window: '20s' }))).toBe(false)
  expect(await isCarriedOver(settings('http://127.0.0.1:1', 7, { window: '20s' }))).toBe(false)
  expect((await market(live)).breaker).toBeNull()
})

test('the health of a candidate, found by one process, holds in another', async () => {
  const url = `http://127.0.0.1:${await freePort()}`
  const { market } = testConfig({
    upstreams: { market: { endpoints: [url], healthCheck, candidate: { endpoints: [url] } } },
  }).upstreams
  const [endpoint] = market.endpoints
  if (market.candidate === null || endpoint === undefined) throw new Error('the configuration has both sides')
  const { upstream } = market.candidate
  const found: HealthVerdict[] = []
  const prober = new EndpointRegistry(undefined, (verdict) => found.push(verdict))
  const worker = new EndpointRegistry(undefined, null)
  onTestFinished(async () => {
    await Promise.all([prober, worker].map((registry) => registry.destroy(new Error('the test is over'))))
  })
  const primary = worker.acquire('market', 'primary', endpoint, market, '')
  const candidate = worker.acquire('market', 'candidate', endpoint, upstream, '')

  prober.acquire('market', 'candidate', endpoint, upstream, '').configureHealthCheck(upstream.healthCheck, 'endpoint')
  await expect.poll(() => found.length).toBe(1)
  for (const verdict of found) worker.applyVerdict(verdict)

  expect(candidate.health.down).not.toBeNull()
  expect(primary.health.down).toBeNull()
})

test('an edit whose new candidate does not respond is rejected at its key, unless forced', async () => {
  const connecting = { reload: { watch: false, preflight: 'connect' } }
  const live = await bootLiveGateway(connecting)
  const order = (candidate: string, balance: string, query = '') => {
    live.edit({ ...connecting, upstreams: { market: { endpoints: ['sandbox'], candidate, balance } } })
    return fetchAdmin(`${live.admin}/reload${query}`, 'POST')
  }
  const nowhere = `http://127.0.0.1:${await freePort()}`

  const { status, body } = await order(nowhere, 'p2c')
  const [forced, left] = [await order(nowhere, 'p2c', '?force=true'), await order(nowhere, 'round-robin')]
  const sandbox = await order('sandbox', 'p2c')

  expect([status, forced.status, left.status, sandbox.status]).toEqual([422, 200, 200, 200])
  const message = 'no new endpoint of the candidate of market can be reached'
  expect(body.problems).toMatchObject([{ path: 'upstreams.market.candidate.endpoints', message }])
  expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
  expect((await market(live)).candidate?.endpoints).toMatchObject([{ url: 'sandbox', state: 'up' }])
})
