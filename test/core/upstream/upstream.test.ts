import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import type { CircuitBreakerConfig, OutlierConfig } from '../../../src/core/config/config.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { GroupEndpoint } from '../../../src/core/upstream/endpoints/group-endpoint.ts'
import type { Upstream } from '../../../src/core/upstream/upstream.ts'
import { chunkedBody, fakeBody, fakeExchange } from '../../helpers/exchange.ts'
import { freePort } from '../../helpers/free-port.ts'
import { openTestUpstream, sendOutcome } from '../../helpers/open-upstream.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../helpers/upstream.ts'
import { eventually } from '../../helpers/wire.ts'

const a = 'http://127.0.0.1:1'
const b = 'http://127.0.0.1:2'
const breaker: CircuitBreakerConfig = { failureRate: 0.5, minRequests: 2, window: 10_000, openFor: 5000, probes: 1 }
const outlier: OutlierConfig = { consecutiveFailures: 2, failureRate: null, ejectionTime: 60_000, maxEjected: 0.5 }

const member = (upstream: Upstream, i: number) => upstream.members[i] as GroupEndpoint

test('the send of an upstream is that of its endpoint where it has one and no breaker', () => {
  const isItsEndpoints = (upstream: Upstream): boolean => upstream.send === member(upstream, 0).send

  expect(isItsEndpoints(openTestUpstream(a, { outlier, balance: 'least-requests' }))).toBe(true)
  expect(isItsEndpoints(openTestUpstream([a, b]))).toBe(false)
  expect(isItsEndpoints(openTestUpstream(a, { circuitBreaker: breaker }))).toBe(false)
})

/** Makes a POST whose body arrives when the test says so. */
const postThatComesLate = () => {
  const { promise, resolve } = Promise.withResolvers<Buffer[]>()
  const body = Object.assign(fakeBody(3), { read: () => promise })
  return { exchange: fakeExchange({ operation: 'valuation.score', body }), arrive: () => resolve([Buffer.from('abc')]) }
}

test('the only endpoint of a group is timed as one of several is, but not by an upload', async () => {
  const { url } = await httpUpstream()
  const upstream = openTestUpstream(url)
  const { latency } = member(upstream, 0).health

  const beforeAny = latency.isKnown
  await sendOutcome(upstream, fakeExchange({ operation: 'valuation.score', body: chunkedBody('a') }))
  const afterUpload = latency.isKnown
  await sendOutcome(upstream, fakeExchange())

  expect([beforeAny, afterUpload, latency.isKnown]).toEqual([false, false, true])
})

test('an endpoint that fails is ejected, and the event is logged', async () => {
  const good = await httpUpstream()
  const bad = await httpUpstream((_, response) => response.writeHead(500).end())
  const events: unknown[] = []
  const logEvent = (...event: unknown[]) => void events.push(event)
  const upstream = openTestUpstream([good.url, bad.url], { outlier, balance: 'round-robin' }, logEvent)
  upstream.activate()

  const results: (number | string)[] = []
  for (let i = 0; i < 20; i++) results.push(await sendOutcome(upstream, fakeExchange()))

  expect(results.filter((status) => status === 500).length).toBe(2)
  expect(member(upstream, 1).state).toMatchObject({ name: 'ejected', reason: '2 failures in a row' })
  expect(events).toEqual([['warn', 'endpoint ejected', expect.objectContaining({ endpoint: bad.url })]])

  member(upstream, 1).health.uneject()

  expect(member(upstream, 1).state.name).toBe('up')
})

test.each([
  ['is off', null],
  ['takes more failures', { ...outlier, consecutiveFailures: 2 }],
])('once outlier detection %s, a request that began before the edit ejects nothing', async (_, edited) => {
  const good = await httpUpstream()
  const sockets: Socket[] = []
  const slow = await rawUpstream((socket) => onRequest(socket, () => sockets.push(socket)))
  const origins = [good.url, slow.url]
  const earlier = openTestUpstream(origins, { outlier: { ...outlier, consecutiveFailures: 1 }, balance: 'round-robin' })
  earlier.activate()
  const running = [sendOutcome(earlier, fakeExchange()), sendOutcome(earlier, fakeExchange())]
  await eventually(() => sockets.length === 1)
  const upstream = openTestUpstream(origins, { outlier: edited }, () => {}, earlier)
  upstream.activate()

  sockets[0]?.write('HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n')
  await Promise.all(running)
  await eventually(() => member(upstream, 1).health.counts.failures === 1)

  expect(member(upstream, 1).state.name).toBe('up')
})

describe('an endpoint with all slots taken', () => {
  const hanging = async () => {
    const sockets: Socket[] = []
    const opened = await rawUpstream((socket) => onRequest(socket, () => sockets.push(socket)))
    return { url: opened.url, sockets }
  }
  const noQueue = { maxConnections: 1, maxPending: 0, balance: 'round-robin' } as const

  test('gets nothing while another has slots, and all full is overloaded', async () => {
    const full = await hanging()
    const free = await httpUpstream()
    const upstream = openTestUpstream([full.url, free.url], noQueue)
    const stuck = sendOutcome(upstream, fakeExchange())
    await eventually(() => full.sockets.length === 1)

    for (let i = 0; i < 4; i++) expect(await sendOutcome(upstream, fakeExchange())).toBe(200)
    const both = await Promise.all(Array.from({ length: 2 }, () => sendOutcome(upstream, fakeExchange())))

    expect(both.sort()).toEqual([200, 'overloaded'])
    full.sockets[0]?.destroy()
    expect(await stuck).toBe('reset-before-headers')
  })

  test('gets no request whose body came when it was full already', async () => {
    const full = await hanging()
    const free = await httpUpstream()
    const upstream = openTestUpstream([full.url, free.url], noQueue)
    const { exchange, arrive } = postThatComesLate()
    const slow = sendOutcome(upstream, exchange)
    const quick = [sendOutcome(upstream, fakeExchange()), sendOutcome(upstream, fakeExchange())]
    await Promise.any(quick)
    await eventually(() => full.sockets.length === 1)

    arrive()

    expect(await slow).toBe(200)
    full.sockets[0]?.destroy()
    await Promise.all(quick)
  })
})

test('a deadline that ends while an endpoint is connected to counts against it, and not while the request has no slot', async () => {
  // Accepts, and never speaks TLS.
  const { port, accepted } = await rawUpstream((socket) => void socket.resume())
  const upstream = openTestUpstream(`https://127.0.0.1:${port}`, { maxConnections: 1 })
  const [connecting, waiting] = [fakeExchange(), fakeExchange()]
  const ended = [sendOutcome(upstream, connecting), sendOutcome(upstream, waiting)]
  await eventually(() => accepted() === 1)
  const { health } = member(upstream, 0)

  waiting.abort(new GatewayError('deadline-exceeded'))
  const early = health.counts.failures
  connecting.abort(new GatewayError('deadline-exceeded'))

  expect(await Promise.all(ended)).toEqual(['deadline-exceeded', 'deadline-exceeded'])
  expect([early, health.counts.failures]).toEqual([0, 1])
})

describe('an endpoint that drains', () => {
  const entry = (origin: string, drain: boolean) => ({ origin, pathPrefix: '', weight: 100, drain })

  test('gets nothing, even as the only one that is up', async () => {
    const { url, accepted } = await httpUpstream()
    const closed = `http://127.0.0.1:${await freePort()}`
    const upstream = openTestUpstream([], { endpoints: [entry(url, true), entry(closed, false)] })

    expect(await sendOutcome(upstream, fakeExchange())).toBe('connect-failed')
    expect(accepted()).toBe(0)
    expect(member(upstream, 0).state.name).toBe('draining')
  })

  test('by one of its two entries takes the requests of the other', async () => {
    const { url } = await httpUpstream()
    const endpoints = [entry(url, true), entry(url, false)]
    const upstream = openTestUpstream([], { endpoints }, () => {}, openTestUpstream(url))

    upstream.activate()

    expect(await sendOutcome(upstream, fakeExchange())).toBe(200)
  })

  test.each([
    ['operator', 'gets nothing of', 1, 'no-healthy-endpoint'],
    ['operator', 'gets nothing of', 2, 'no-healthy-endpoint'],
    ['file', 'finishes', 1, 200],
    ['file', 'finishes', 2, 200],
  ] as const)('by the %s %s what began before, as all %i of its group do', async (by, _, count, outcome) => {
    const opened = await Promise.all(Array.from({ length: count }, () => httpUpstream()))
    const earlier = openTestUpstream(opened.map(({ url }) => url))
    const { exchange, arrive } = postThatComesLate()
    const reading = sendOutcome(earlier, exchange)
    const endpoints = opened.map(({ url }) => entry(url, true))
    openTestUpstream([], { endpoints }, () => {}, earlier, by).activate()

    arrive()

    expect(await reading).toBe(outcome)
    expect(await sendOutcome(earlier, fakeExchange())).toBe(outcome)
    const begun = opened.reduce((sum, each) => sum + each.begun(), 0)
    expect(begun).toBe(outcome === 200 ? 2 : 0)
  })
})

test('a health check that fails takes an endpoint out until changed probes contradict it, or end', async () => {
  const { url } = await httpUpstream((_, response) => response.writeHead(503).end())
  const expected = { expect: { from: 200, to: 299 }, healthyAfter: 1, unhealthyAfter: 2 }
  const healthCheck = { path: '/health', interval: 10, timeout: 1000, ...expected }
  const upstream = openTestUpstream([url, a], { healthCheck })
  const { endpoint } = member(upstream, 0)
  const state = () => member(upstream, 0).state.name

  upstream.activate()
  await eventually(() => state() === 'down')
  const down = member(upstream, 0).state
  endpoint.configureHealthCheck({ ...healthCheck, unhealthyAfter: 3 }, 'endpoint')
  const changed = state()
  endpoint.configureHealthCheck({ ...healthCheck, expect: { from: 503, to: 503 } }, 'endpoint')
  const mended = state()
  await eventually(() => state() === 'up')
  endpoint.configureHealthCheck(healthCheck, 'endpoint')
  await eventually(() => state() === 'down')
  endpoint.configureHealthCheck(null, 'endpoint')

  expect([changed, mended]).toEqual(['down', 'down'])
  expect(down.reason).toBe('responded with 503, 200-299 is expected')
  expect(member(upstream, 0).state.name).toBe('up')
})
