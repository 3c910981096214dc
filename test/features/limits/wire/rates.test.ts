import { hash } from 'node:crypto'
import { parseList } from 'structured-headers'
import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

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

const ask = (id: string, path = '/market/insights', shown = secret): Promise<Response> =>
  fetch(site.live.url + path, { headers: { 'X-Api-Key': `${id}.${shown}` } })
const statusesOf = async (...ids: readonly string[]): Promise<number[]> => {
  const statuses: number[] = []
  for (const id of ids) statuses.push((await ask(id)).status)
  return statuses
}

test('a client is rejected beyond its rate with 429, and the fields name its limit beside that of the address', async () => {
  const responses = [await ask('a'), await ask('a'), await ask('a'), await ask('b')]

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
    expect((await ask('c', '/leads/pipeline')).status).toBe(403)
    expect((await ask('c', '/market/insights', 'b'.repeat(43))).status).toBe(401)
  }

  expect(await statusesOf('c', 'c', 'c')).toEqual([200, 200, 429])
})

test('a client has no more in flight than it may', async () => {
  const held = Promise.withResolvers<void>()
  site.answerWith(async (_, response) => {
    await held.promise
    response.end()
  })

  const first = ask('d')
  await expect.poll(() => site.begun()).toBe(1)
  const [second, other] = [await ask('d'), ask('b')]
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
