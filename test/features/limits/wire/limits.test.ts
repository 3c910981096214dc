import { hash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { parseList } from 'structured-headers'
import { expect, onTestFinished, test } from 'vitest'
import type { Status } from '../../../../src/core/runtime/status/status-part.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway, liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { hurryClock } from '../../../helpers/odd-clocks.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { bareGet } from '../../../helpers/wire.ts'

const secret = 'a'.repeat(43)
const client = (id: string, more: object = {}) => ({
  ...{ id, apiKeys: [{ id, sha256: hash('sha256', secret) }], operations: ['market.insights'] },
  ...more,
})
const rated = { rate: '1/min', burst: 2 }
const site = liveGatewayForAll({
  auth: { methods: ['apiKey'] },
  limits: { address: { rate: '100/s' } },
  clients: [client('a', rated), client('b'), client('c', rated), client('d', { concurrency: 1 })],
})

const fetchWithKey = (id: string, path = '/market/insights', shown = secret): Promise<Response> =>
  fetch(site.live.url + path, { headers: { 'X-Api-Key': `${id}.${shown}` } })
const statusesOf = async (...ids: readonly string[]): Promise<number[]> => {
  const statuses: number[] = []
  for (const id of ids) statuses.push((await fetchWithKey(id)).status)
  return statuses
}

test('a client is rejected beyond its rate with 429, and the fields name its limit beside that of the address', async () => {
  const responses = [await fetchWithKey('a'), await fetchWithKey('a'), await fetchWithKey('a'), await fetchWithKey('b')]

  expect(responses.map(({ status }) => status)).toEqual([200, 200, 429, 200])
  expect(site.received()).toHaveLength(3)
  const policies = responses.map(({ headers }) => parseList(headers.get('ratelimit-policy') ?? ''))
  const both = ['address', 'client']
  expect(policies.map((list) => list.map(([name]) => name))).toEqual([both, both, both, ['address']])
  expect(Number(responses[2]?.headers.get('retry-after'))).toBeGreaterThan(50)
  const line = await site.live.line(({ status }) => status === 429)
  expect(line).toMatchObject({ failure: 'rate-limited', clientId: 'a' })
})

test('what is rejected for want of a key or an entitlement is not counted', async () => {
  for (let n = 0; n < 4; n++) {
    expect((await fetchWithKey('c', '/leads/pipeline')).status).toBe(403)
    expect((await fetchWithKey('c', '/market/insights', 'b'.repeat(43))).status).toBe(401)
  }

  expect(await statusesOf('c', 'c', 'c')).toEqual([200, 200, 429])
})

test('a client has no more in flight than it may', async () => {
  const held = Promise.withResolvers<void>()
  site.respondWith(async (_, response) => {
    await held.promise
    response.end()
  })

  const first = fetchWithKey('d')
  await expect.poll(() => site.begun()).toBe(1)
  const [second, other] = [await fetchWithKey('d'), fetchWithKey('b')]
  held.resolve()

  expect([second.status, second.headers.get('retry-after')]).toEqual([429, '1'])
  expect([(await first).status, (await other).status, ...(await statusesOf('d'))]).toEqual([200, 200, 200])
})

const address = { rate: '1/min', burst: 3 }

const askAt = (url: string, forwardedFor = ''): Promise<Response> =>
  fetch(`${url}/market/insights`, { headers: forwardedFor === '' ? {} : { 'X-Forwarded-For': forwardedFor } })

test('over the limit is 429, with the time to wait and what is left, beside what an upstream says of its own', async () => {
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, { 'RateLimit-Policy': '"own";q=10', RateLimit: '"own";r=9' }).end()
  })
  const { url } = await bootGateway({ upstream: upstream.url, limits: { address } })

  const [first, , , last] = [await askAt(url), await askAt(url), await askAt(url), await askAt(url)]

  expect([first.status, last.status, upstream.requests.length]).toEqual([200, 429, 3])
  for (const name of ['ratelimit', 'ratelimit-policy'])
    expect(parseList(first.headers.get(name) ?? '').map(([each]) => each)).toEqual(['own', 'address'])
  expect(await last.json()).toMatchObject({ status: 429, title: 'Too Many Requests', code: 'rate-limited' })
  const wait = last.headers.get('retry-after')
  expect(Number(wait)).toBeGreaterThan(50)
  expect(last.headers.get('ratelimit')).toBe(`"address";r=0;t=${wait}`)
  expect(last.headers.get('ratelimit-policy')).toBe('"address";q=3;w=180')
})

test.each([
  ['is that of the client by the word of a trusted proxy', ['127.0.0.1'], [200, 200, 200, 200]],
  ['without a trusted proxy is that of the peer, whatever it says', [], [200, 200, 200, 429]],
])('the address %s', async (_, trustedProxies, expected) => {
  const { url } = await bootGateway({ limits: { address }, listen: { trustedProxies } })
  const statuses: number[] = []

  for (const nth of [1, 2, 3, 4]) statuses.push((await askAt(url, `192.0.2.9, 192.0.2.${nth}`)).status)

  expect(statuses).toEqual(expected)
})

test('what has been used stays used over a reload, unless the limit is another', async () => {
  const live = await bootLiveGateway({ limits: { address } })
  const statusAfter = async (limit: object): Promise<number> => {
    live.edit({ limits: { address: { ...address, ...limit } } })
    await live.gateway.reload('request')
    return (await askAt(live.url)).status
  }
  for (let n = 0; n < 3; n++) await askAt(live.url)

  expect((await fetchAdmin(`${live.admin}/status`)).body.limits).toMatchObject({
    rate: { store: 'memory', state: 'local', where: null, evictions: 0 },
  })
  expect([await statusAfter({ ipv6Prefix: 56 }), await statusAfter({ burst: 4 })]).toEqual([429, 200])
})

/** Opens an upstream that responds when it is released. */
const held = async () => {
  const responses: (() => void)[] = []
  const { url, begun } = await httpUpstream((_, response) => responses.push(() => response.end('late')))
  const release = (): void => {
    for (const respond of responses.splice(0)) respond()
  }
  return { url, begun: (many: number): Promise<void> => expect.poll(begun).toBe(many), count: begun, release }
}

const fetchFrom = (live: LiveGateway, path = '/market/insights'): Promise<Response> => fetch(`${live.url}${path}`)
const limits = async (live: LiveGateway): Promise<Status['limits']> =>
  (await fetchAdmin(`${live.admin}/status`)).body.limits as never

test('what an upstream cannot do at once is rejected at once, and nothing waits for it', async () => {
  const upstream = await held()
  const live = await bootLiveGateway({ upstreams: { market: { endpoints: [upstream.url], concurrency: 2 } } })

  const served = [fetchFrom(live), fetchFrom(live)]
  await upstream.begun(2)
  const excess = await Promise.all(Array.from({ length: 3 }, () => fetchFrom(live)))
  const other = await fetchFrom(live, '/leads/pipeline')
  const full = await limits(live)
  upstream.release()

  for (const response of excess) {
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toMatchObject({ code: 'overloaded' })
  }
  expect(other.status).toBe(200)
  expect((await Promise.all(served)).map(({ status }) => status)).toEqual([200, 200])
  expect(upstream.count()).toBe(2)
  expect(full).toMatchObject({
    concurrency: [{ key: 'limits.concurrency' }, { key: 'upstreams.market.concurrency', inFlight: 2, limit: 2 }],
  })
})

test('what began before a reload counts, and another limit holds for it at once', async () => {
  const upstream = await held()
  const config = (concurrency: number) => ({
    defaults: { deadline: 'none', timeouts: { headers: 'none' } }, // a reload takes its time on a busy machine
    upstreams: { market: { endpoints: [upstream.url] } },
    operations: { 'market.insights': { concurrency } },
  })
  const live = await bootLiveGateway(config(2))
  const served = [fetchFrom(live), fetchFrom(live)]
  await upstream.begun(2)

  live.edit(config(1))
  expect(await fetchAdmin(`${live.admin}/reload`, 'POST')).toMatchObject({ status: 200 })
  const rejected = await fetchFrom(live)
  upstream.release()

  expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '1'])
  expect((await Promise.all(served)).map(({ status }) => status)).toEqual([200, 200])
})

test('a response that its client does not read counts until the client has gone', async () => {
  const large = Buffer.alloc(16 * 1024 ** 2)
  const { url } = await httpUpstream((_, response) => response.end(large))
  const live = await bootLiveGateway({ upstream: url, limits: { concurrency: 1 } })
  const client = connect(Number(new URL(live.url).port), '127.0.0.1')
  onTestFinished(() => void client.destroy())
  client.write(bareGet())
  await once(client, 'readable') // and nothing is read

  const meanwhile = await fetchFrom(live)
  client.destroy()

  expect(meanwhile.status).toBe(503)
  await expect.poll(async () => (await limits(live)).concurrency).toMatchObject([{ inFlight: 0 }])
  const after = await fetchFrom(live)
  expect(after.status).toBe(200)
  await after.body?.cancel()
})

test('load is shed on the wire, for as long as the event loop is late', async () => {
  const live = await bootLiveGateway({ limits: { eventLoopDelay: '1s' } })
  const slowDown = hurryClock()

  await live.line(({ msg }) => msg === 'load is shed')
  const shed = await fetchFrom(live)
  const { eventLoop } = await limits(live)
  slowDown()

  expect([shed.status, eventLoop]).toEqual([503, expect.objectContaining({ sheds: true, limitMs: 1000 })])
  await expect.poll(async () => (await fetchFrom(live)).status).toBe(200)
})
