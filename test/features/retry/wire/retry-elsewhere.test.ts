/** Where a retry goes, beside the other policies that have a say in it. */
import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { fetchGroupStatus } from '../../../../tools/lab/lab.ts'
import { bootGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

const sound = () => httpUpstream()
const failing = (status = 503) => httpUpstream((_, response: ServerResponse) => response.writeHead(status).end())

/** Fails so many requests, and then none. */
const failingFirst = async (times: number): Promise<TestUpstream> => {
  let left = times
  return httpUpstream((_, response) => response.writeHead(left-- > 0 ? 503 : 200).end())
}

const promptly = { base: '1ms', max: '1ms' }
const plenty = { backoff: promptly, budget: { share: '100%', floor: 1000 } }

const urls = (upstreams: readonly TestUpstream[]): string[] => upstreams.map(({ url }) => url)

const counts = (upstreams: readonly TestUpstream[]): number[] => upstreams.map(({ requests }) => requests.length)

/** Sends GETs one after the other; returns how often each status came. */
const statuses = async ({ port }: Pick<TestGateway, 'port'>, count: number): Promise<Record<string, number>> => {
  const seen: Record<string, number> = {}
  for (let i = 0; i < count; i++) {
    const { status } = await call(port)
    seen[status] = (seen[status] ?? 0) + 1
  }
  return seen
}

test.each(['p2c', 'round-robin'])(
  'by %s, with two of three endpoints failing, three attempts find the third',
  async (balance) => {
    const endpoints = [await failing(), await sound(), await failing(502)]
    const market = { endpoints: urls(endpoints), balance, outlier: 'none', retry: plenty }
    const booted = await bootGateway({ upstreams: { market } })

    const seen = await statuses(booted, 12)

    expect(seen).toEqual({ 200: 12 })
    expect(endpoints[1]?.requests).toHaveLength(12)
  },
)

test('with one of two endpoints failing at once, retry and its budget as they come make every GET good', async () => {
  const endpoints = [await failing(), await sound()]
  const market = { endpoints: urls(endpoints), outlier: 'none', retry: { backoff: promptly } }
  const booted = await bootGateway({ upstreams: { market } })

  const seen = await statuses(booted, 150)

  expect(seen).toEqual({ 200: 150 })
  expect(endpoints[0]?.requests.length).toBeLessThan(30)
})

test('when all were tried, another attempt goes to one of them', async () => {
  const endpoints = [await failing(), await failing()]
  const market = { endpoints: urls(endpoints), outlier: 'none', retry: { ...plenty, attempts: 5 } }
  const booted = await bootGateway({ upstreams: { market } })

  const response = await call(booted.port)

  expect(response.status).toBe(503)
  expect(counts(endpoints).toSorted()).not.toContain(0)
  expect(counts(endpoints).reduce((sum, count) => sum + count, 0)).toBe(5)
})

describe('beside outlier detection', () => {
  test('a failure that takes its endpoint out is made good by the other', async () => {
    const endpoints = [await failing(), await sound()]
    const market = { endpoints: urls(endpoints), balance: 'round-robin', retry: plenty }
    const live = await bootLiveGateway({ upstreams: { market } })

    const seen = await statuses({ port: live.gateway.address.port }, 40)

    expect(seen).toEqual({ 200: 40 })
    expect(counts(endpoints)).toEqual([5, 40])
    expect((await fetchGroupStatus(live, 'market')).endpoints.map(({ state }) => state)).toEqual(['ejected', 'up'])
  })

  test('one that is up is tried again before one that is out', async () => {
    const endpoints = [await failing(), await failingFirst(0)]
    const outlier = { consecutiveFailures: 1, ejectionTime: '1h' }
    const market = { endpoints: urls(endpoints), balance: 'round-robin', outlier, retry: plenty }
    const booted = await bootGateway({ upstreams: { market } })
    await statuses(booted, 2) // the first is out

    const seen = await statuses(booted, 10)

    expect(seen).toEqual({ 200: 10 })
    expect(endpoints[0]?.requests).toHaveLength(1)
  })
})

test('beside a health check, one that is up is tried again before one that is down', async () => {
  const down = await failing()
  let blips = 1
  const up = await httpUpstream(({ url }, response) =>
    response.writeHead(url !== '/health' && blips-- > 0 ? 503 : 200).end(),
  )
  const healthCheck = { path: '/health', interval: '100ms', unhealthyAfter: 1 }
  const market = { endpoints: [down.url, up.url], outlier: 'none', retry: plenty, healthCheck }
  const live: LiveGateway = await bootLiveGateway({ upstreams: { market } })
  const isDown = async () => (await fetchGroupStatus(live, 'market')).endpoints[0]?.state === 'down'
  while (!(await isDown())) await call(live.gateway.address.port, { target: '/health' })
  const before = down.requests.filter(({ url }) => url !== '/health').length

  const seen = await statuses({ port: live.gateway.address.port }, 5)

  expect(seen).toEqual({ 200: 5 })
  expect(down.requests.filter(({ url }) => url !== '/health')).toHaveLength(before)
})

test('beside a drained endpoint, the one that takes work is tried again', async () => {
  const drained = await sound()
  const other = await failingFirst(2)
  const market = { endpoints: [{ url: drained.url, drain: true }, other.url], outlier: 'none', retry: plenty }
  const booted = await bootGateway({ upstreams: { market } })

  const response = await call(booted.port)

  expect(response.status).toBe(200)
  expect(counts([drained, other])).toEqual([0, 3])
})

test('beside a circuit breaker, what others make good does not open it', async () => {
  const endpoints = [await failing(), await sound()]
  const circuitBreaker = { minRequests: 5 }
  const market = { endpoints: urls(endpoints), outlier: 'none', circuitBreaker, retry: plenty }
  const live = await bootLiveGateway({ upstreams: { market } })

  const seen = await statuses({ port: live.gateway.address.port }, 30)

  expect(seen).toEqual({ 200: 30 })
  expect((await fetchGroupStatus(live, 'market')).breaker?.state).toBe('closed')
  expect(endpoints[0]?.requests.length).toBeGreaterThan(0)
})
