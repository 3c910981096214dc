/** The candidate of a group as a running upstream: its endpoints, its breaker and its probes are its own. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { EndpointRegistry, type HealthVerdict } from '../../../../../src/core/upstream/endpoints/endpoint-registry.ts'
import { freePort } from '../../../../helpers/free-port.ts'
import { testConfig } from '../../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

interface SideStatus {
  readonly endpoints: readonly { readonly url: string; readonly state: string; readonly requests: number }[]
  readonly breaker: { readonly state: string; readonly since: string } | null
}

const market = async ({ admin }: LiveGateway): Promise<SideStatus & { readonly candidate: SideStatus | null }> => {
  const { body } = await fetchAdmin(`${admin}/status`)
  return (body as unknown as { upstreams: { market: SideStatus & { candidate: SideStatus | null } } }).upstreams.market
}

interface Edit {
  readonly url?: string
  readonly weight?: number
  readonly circuitBreaker?: object
}

const healthCheck = { path: '/health', interval: '100ms', unhealthyAfter: 1 }

test('it gets its health checks, and no request of a client', async () => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const live = await bootLiveGateway({
    upstreams: { market: { endpoints: [primary.url], healthCheck, candidate: { endpoints: [candidate.url] } } },
  })

  for (let i = 0; i < 20; i++) expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
  await expect.poll(candidate.begun, { timeout: 30_000 }).toBeGreaterThanOrEqual(2)

  expect(new Set(candidate.requests.map(({ url }) => url))).toEqual(new Set(['/health']))
  const status = await market(live)
  expect(status.endpoints).toMatchObject([{ url: primary.url, requests: 20 }])
  expect(status.candidate).toMatchObject({
    inFlight: 0,
    balance: 'p2c',
    breaker: null,
    endpoints: [{ url: candidate.url, state: 'up', requests: 0 }],
  })
})

test('one that is down leaves the gateway ready, and the requests of the primary alone', async () => {
  const primary = await httpUpstream()
  const gone = `http://127.0.0.1:${await freePort()}`
  const live = await bootLiveGateway({
    upstreams: { market: { endpoints: [primary.url], healthCheck, candidate: { endpoints: [gone] } } },
  })

  await expect.poll(async () => (await market(live)).candidate?.endpoints[0]?.state, { timeout: 30_000 }).toBe('down')

  expect((await fetch(`${live.admin}/ready`)).status).toBe(200)
  expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
  expect(live.lines).toContainEqual(
    expect.objectContaining({ msg: 'endpoint down', group: 'market', side: 'candidate', endpoint: gone }),
  )
})

test('an endpoint on both sides is two, of which each has its own probes', async () => {
  const upstream = await httpUpstream(({ url }, response) => {
    response.writeHead(url === '/candidate' ? 500 : 200).end()
  })
  const live = await bootLiveGateway({
    upstreams: {
      market: {
        endpoints: [upstream.url],
        healthCheck,
        candidate: { endpoints: [upstream.url], healthCheck: { path: '/candidate' } },
      },
    },
  })

  await expect.poll(async () => (await market(live)).candidate?.endpoints[0]?.state, { timeout: 30_000 }).toBe('down')

  expect((await market(live)).endpoints[0]?.state).toBe('up')
  expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
})

describe('over a reload', () => {
  test('it is no longer probed when the file has it no more, and shown no more', async () => {
    const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
    const own = { endpoints: [primary.url], healthCheck }
    const live = await bootLiveGateway({ upstreams: { market: { ...own, candidate: candidate.url } } })
    await expect.poll(candidate.begun, { timeout: 30_000 }).toBeGreaterThanOrEqual(1)

    live.edit({ upstreams: { market: own } })
    await live.gateway.reload('request')
    const probed = candidate.begun()
    const enough = primary.begun() + 5
    await expect.poll(primary.begun, { timeout: 30_000 }).toBeGreaterThanOrEqual(enough)

    expect(candidate.begun() - probed).toBeLessThanOrEqual(1) // one may have been on its way
    expect((await market(live)).candidate).toBeNull()
    await expect.poll(candidate.connections, { timeout: 30_000 }).toBe(0)
  })

  test('one that an edit brings is probed from then on', async () => {
    const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
    const own = { endpoints: [primary.url], healthCheck }
    const live = await bootLiveGateway({ upstreams: { market: own } })
    expect((await market(live)).candidate).toBeNull()

    live.edit({ upstreams: { market: { ...own, candidate: candidate.url } } })
    await live.gateway.reload('request')

    await expect.poll(candidate.begun, { timeout: 30_000 }).toBeGreaterThanOrEqual(2)
    expect((await market(live)).candidate?.endpoints).toMatchObject([{ url: candidate.url }])
  })

  test('that promotes it, requests go there, and nothing is left of the upstream before', async () => {
    const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
    const own = { endpoints: [primary.url], healthCheck }
    const live = await bootLiveGateway({ upstreams: { market: { ...own, candidate: candidate.url } } })
    await (await fetch(`${live.url}/market/insights`)).text()

    live.edit({ upstreams: { market: { ...own, endpoints: [candidate.url] } } })
    await live.gateway.reload('request')
    await (await fetch(`${live.url}/market/insights`)).text()

    expect(candidate.requests.filter(({ url }) => url === '/market/insights')).toHaveLength(1)
    await expect.poll(primary.connections, { timeout: 30_000 }).toBe(0)
    expect(await market(live)).toMatchObject({ endpoints: [{ url: candidate.url, state: 'up' }], candidate: null })
  })

  test('that changes the two around, each is probed as its side says', async () => {
    const [one, other] = [await httpUpstream(), await httpUpstream()]
    const sides = (first: string, second: string) => ({
      upstreams: {
        market: {
          endpoints: [first],
          healthCheck: { ...healthCheck, path: '/primary' },
          candidate: { endpoints: [second], healthCheck: { path: '/candidate' } },
        },
      },
    })
    const live = await bootLiveGateway(sides(one.url, other.url))
    await expect.poll(() => other.requests.some(({ url }) => url === '/candidate'), { timeout: 30_000 }).toBe(true)

    live.edit(sides(other.url, one.url))
    await live.gateway.reload('request')

    await expect.poll(() => one.requests.some(({ url }) => url === '/candidate'), { timeout: 30_000 }).toBe(true)
    await expect.poll(() => other.requests.some(({ url }) => url === '/primary'), { timeout: 30_000 }).toBe(true)
    expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
    expect(other.requests.some(({ url }) => url === '/market/insights')).toBe(true)
  })

  test.each<[string, Edit, boolean]>([
    ['an edit of something else', { weight: 7 }, true],
    ['another breaker of the candidate', { circuitBreaker: { window: '20s' } }, false],
    ['another endpoint of the candidate', { url: 'http://127.0.0.1:1' }, false],
  ])('its breaker after %s', async (_, { url, weight, circuitBreaker }, isSame) => {
    const candidate = (endpoint: string, weight = 100, breaker = {}) => ({
      endpoints: [{ url: endpoint, weight }],
      circuitBreaker: breaker,
    })
    const settings = (each: object) => ({ upstreams: { market: { endpoints: ['sandbox'], candidate: each } } })
    const live = await bootLiveGateway(settings(candidate('http://127.0.0.1:2')))
    const before = (await market(live)).candidate?.breaker?.since

    await expect.poll(() => new Date().toISOString()).not.toBe(before) // a new one would have another time
    live.edit(settings(candidate(url ?? 'http://127.0.0.1:2', weight, circuitBreaker)))
    await live.gateway.reload('request')

    const after = (await market(live)).candidate?.breaker?.since
    expect(after === before).toBe(isSame)
    expect((await market(live)).breaker).toBeNull()
  })
})

test('what a process that probes finds of the candidate holds for the candidate of another process', async () => {
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
  await expect.poll(() => found.length, { timeout: 30_000 }).toBe(1)
  for (const verdict of found) worker.applyVerdict(verdict)

  expect(candidate.health.down).not.toBeNull()
  expect(primary.health.down).toBeNull()
})

describe('a candidate behind a name', () => {
  test('that does not resolve is down, and the primary is not', async () => {
    const primary = await httpUpstream()
    const live = await bootLiveGateway({
      upstreams: { market: { endpoints: [primary.url], candidate: 'http://nowhere.invalid:1' } },
    })

    await expect.poll(async () => (await market(live)).candidate?.endpoints[0]?.state, { timeout: 30_000 }).toBe('down')

    expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
    expect((await fetch(`${live.admin}/ready`)).status).toBe(200)
    expect(live.lines).toContainEqual(
      expect.objectContaining({ msg: 'endpoint not resolved', group: 'market', side: 'candidate' }),
    )
  })

  test('is resolved for itself, also where the primary has the same name', async () => {
    const upstream = await httpUpstream()
    const named = `http://localhost:${upstream.port}`
    const live = await bootLiveGateway({
      upstreams: {
        market: {
          endpoints: [named],
          healthCheck,
          candidate: { endpoints: [named], request: { set: { 'X-Side': 'b' } } },
        },
      },
    })

    await expect.poll(upstream.begun, { timeout: 30_000 }).toBeGreaterThanOrEqual(4) // the probes of both

    expect(await market(live)).toMatchObject({
      endpoints: [{ state: 'up' }],
      candidate: { endpoints: [{ state: 'up' }] },
    })
  })
})

describe('the sandbox', () => {
  test('as a candidate alone is opened, and not probed', async () => {
    const primary = await httpUpstream()
    const live = await bootLiveGateway({
      upstream: primary.url,
      defaults: { healthCheck },
      upstreams: { market: { endpoints: [primary.url], candidate: 'sandbox' } },
    })

    await expect.poll(primary.begun, { timeout: 30_000 }).toBeGreaterThanOrEqual(3)

    expect((await market(live)).candidate?.endpoints).toMatchObject([{ url: 'sandbox', state: 'up', sandbox: true }])
  })

  test('that an edit brings as a candidate takes effect', async () => {
    const primary = await httpUpstream()
    const live = await bootLiveGateway({ upstream: primary.url })

    live.edit({ upstream: primary.url, upstreams: { market: { endpoints: [primary.url], candidate: 'sandbox' } } })
    const { result } = await live.gateway.reload('request')

    expect(result).toBe('applied')
    expect((await market(live)).candidate?.endpoints).toMatchObject([{ url: 'sandbox', state: 'up' }])
  })
})
