/** Where a retry goes, beside the other policies that have a say in it. */
import { expect, test } from 'vitest'
import { fetchGroupStatus } from '../../../../tools/lab/lab.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

const promptly = { base: '1ms', max: '1ms' }
const ofDefault = { balance: 'p2c', retry: { backoff: promptly } }
const breaking = { circuitBreaker: { minRequests: 5 } }
const plenty = { backoff: promptly, budget: { share: '100%', floor: 1000 } }
const ejecting = { consecutiveFailures: 1, ejectionTime: '1h' }
const any = expect.any(Number)
const some = expect.toSatisfy((requests: number) => requests > 0)
const fewerThan30 = expect.toSatisfy((requests: number) => requests < 30)

/** Opens an endpoint that responds with these statuses, one after the other, and with the last from then on. */
const responding = ([...left]: readonly number[]) =>
  httpUpstream((_, response) => response.writeHead((left.length > 1 ? left.shift() : left[0]) ?? 200).end())

// Each with how many requests come, the one status that they all get, and how many reach each endpoint.
test.each<[string, readonly (readonly number[])[], object, number, number, readonly unknown[]]>([
  ['by p2c, three attempts find the third', [[503], [200], [502]], { balance: 'p2c' }, 12, 200, [any, 12, any]],
  ['by round-robin too', [[503], [200], [502]], {}, 12, 200, [some, 12, some]],
  ['by the budget that it comes with', [[503], [200]], ofDefault, 150, 200, [fewerThan30, 150]],
  ['beside outlier detection, not to one that it took out', [[503], [200]], { outlier: {} }, 40, 200, [5, 40]],
  ['to one that is up before one that is out', [[503], [200]], { outlier: ejecting }, 12, 200, [1, 12]],
  ['beside a circuit breaker, which does not open on clients', [[503], [200]], breaking, 30, 200, [some, 30]],
])('a retry goes to another endpoint: %s', async (_, endpoints, more, count, status, reached) => {
  const upstreams = await Promise.all(endpoints.map(responding))
  const urls = upstreams.map(({ url }) => url)
  const market = { endpoints: urls, balance: 'round-robin', outlier: 'none', retry: plenty, ...more }
  const live = await bootLiveGateway({ upstreams: { market } })
  const statuses = new Set<number>()

  for (let n = 0; n < count; n++) statuses.add((await call(live.port)).status)

  const counts = upstreams.map(({ requests }) => requests.length)
  expect([[...statuses], counts]).toEqual([[status], reached])
})

test('when all were tried, another attempt goes to one of them', async () => {
  const upstreams = [await responding([503]), await responding([503])]
  const market = { endpoints: upstreams.map(({ url }) => url), outlier: 'none', retry: { ...plenty, attempts: 5 } }
  const live = await bootLiveGateway({ upstreams: { market } })

  const { status } = await call(live.port)

  const [one = 0, other = 0] = upstreams.map(({ requests }) => requests.length)
  expect([status, one + other, one * other]).toEqual([503, 5, expect.toSatisfy((product: number) => product > 0)])
})

test('beside a drained endpoint, the one that takes work is tried again', async () => {
  const [drained, other] = [await responding([200]), await responding([503, 503, 200])]
  const market = { endpoints: [{ url: drained.url, drain: true }, other.url], outlier: 'none', retry: plenty }
  const { gateway } = await bootLiveGateway({ upstreams: { market } })

  const { status } = await call(gateway.address.port)

  expect([status, drained.requests.length, other.requests.length]).toEqual([200, 0, 3])
})

test('beside a health check, one that is up is tried again before one that is down', async () => {
  const down = await responding([503])
  let blips = 1
  const up = await httpUpstream(({ url }, response) =>
    response.writeHead(url !== '/health' && blips-- > 0 ? 503 : 200).end(),
  )
  const healthCheck = { path: '/health', interval: '100ms', unhealthyAfter: 1 }
  const market = { endpoints: [down.url, up.url], outlier: 'none', retry: plenty, healthCheck }
  const live = await bootLiveGateway({ upstreams: { market } })
  await expect.poll(async () => (await fetchGroupStatus(live, 'market')).endpoints[0]?.state).toBe('down')
  const statuses: number[] = []

  for (let n = 0; n < 5; n++) statuses.push((await call(live.port)).status)

  expect(statuses).toEqual(Array(5).fill(200))
  expect(down.requests.filter(({ url }) => url !== '/health')).toEqual([])
})
