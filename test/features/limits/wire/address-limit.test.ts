import { parseList } from 'structured-headers'
import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const address = { rate: '1/min', burst: 3 }
const path = '/market/insights'

/** Asks so many times, one after another. */
const ask = async (url: string, times: number, headers: Record<string, string> = {}): Promise<readonly Response[]> => {
  const responses: Response[] = []
  for (let n = 0; n < times; n++) responses.push(await fetch(url + path, { headers }))
  return responses
}

const statuses = (responses: readonly Response[]): readonly number[] => responses.map(({ status }) => status)

test('over the limit is 429, with the time to wait and what is left', async () => {
  const upstream = await httpUpstream()
  const { url } = await bootGateway({ upstream: upstream.url, limits: { address } })

  const responses = await ask(url, 4)

  expect(statuses(responses)).toEqual([200, 200, 200, 429])
  expect(upstream.requests).toHaveLength(3)
  const last = responses[3] as Response
  expect(await last.json()).toMatchObject({ status: 429, title: 'Too Many Requests', code: 'rate-limited' })
  expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(50)
  expect(parseList(last.headers.get('ratelimit') ?? '')).toMatchObject([
    [
      'address',
      new Map([
        ['r', 0],
        ['t', Number(last.headers.get('retry-after'))],
      ]),
    ],
  ])
  expect(parseList(last.headers.get('ratelimit-policy') ?? '')).toEqual([
    [
      'address',
      new Map([
        ['q', 3],
        ['w', 180],
      ]),
    ],
  ])
})

test('what an upstream says of its own limits stays beside', async () => {
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, { 'RateLimit-Policy': '"own";q=10', RateLimit: '"own";r=9' })
    response.end()
  })
  const { url } = await bootGateway({ upstream: upstream.url, limits: { address } })

  const [answer] = await ask(url, 1)

  const names = parseList(answer?.headers.get('ratelimit') ?? '').map(([name]) => name)
  expect(names).toEqual(['own', 'address'])
  expect(parseList(answer?.headers.get('ratelimit-policy') ?? '')).toHaveLength(2)
})

test('the address is that of the client, by the word of a trusted proxy only', async () => {
  const { url } = await bootGateway({ limits: { address }, listen: { trustedProxies: ['127.0.0.1'] } })

  expect(statuses(await ask(url, 4, { 'X-Forwarded-For': '192.0.2.1' }))).toEqual([200, 200, 200, 429])
  expect(statuses(await ask(url, 1, { 'X-Forwarded-For': '192.0.2.1, 192.0.2.2' }))).toEqual([200])
})

test('an address without a trusted proxy behind it is no other client', async () => {
  const { url } = await bootGateway({ limits: { address } })

  for (const [nth, status] of [200, 200, 200, 429].entries())
    expect(statuses(await ask(url, 1, { 'X-Forwarded-For': `192.0.2.${nth}` }))).toEqual([status])
})

test('what has been used stays used over a reload, unless the limit is another', async () => {
  const live = await bootLiveGateway({ limits: { address } })
  await ask(live.url, 3)
  expect((await fetchAdmin(`${live.admin}/status`)).body.limits).toMatchObject({
    rate: { store: 'memory', state: 'local', where: null, evictions: 0 },
  })

  live.edit({ limits: { address: { ...address, ipv6Prefix: 56 } }, log: { level: 'debug' } })
  await live.gateway.reload('request')
  expect(statuses(await ask(live.url, 1))).toEqual([429])

  live.edit({ limits: { address: { ...address, burst: 4 } } })
  await live.gateway.reload('request')
  expect(statuses(await ask(live.url, 1))).toEqual([200])
})
