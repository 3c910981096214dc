/** A gateway that was edited, beside one that was started with the same file: nothing of the first file is left. */
import { expect, test } from 'vitest'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { exchangeRaw } from '../../../helpers/raw-client.ts'
import { httpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

const token = 'a-token-of-operators'
const key = '7a'.repeat(32)
const clients = [{ id: 'bank-a', apiKeys: [{ id: 'one', sha256: key }], operations: ['leads.pipeline'] }]
const proxy = ['127.0.0.1']
const forwarded = { trustedProxies: proxy, forwarded: 'rfc7239' }
const limits = {
  ...{ maxTarget: '128B', maxHeaders: '1KiB', maxHeaderFields: 6, maxRequestsPerConnection: 1 },
  timeouts: { keepAlive: '7s' },
}
const ofItself: Settings = {
  ...{ requestId: { header: 'X-Trace' }, instance: { name: 'gateway-1', environment: 'staging' } },
  ...{ tracing: { serverTiming: true }, metrics: 'none' },
}
const operations = {
  'market.insights': { state: 'reject' },
  'valuation.score': { maxBody: '1KiB', idempotency: { required: true, header: 'X-Key' } },
}
const auth = { methods: ['apiKey'] }
const admin = { token, hosts: ['gateway.example'] }

/** Each beside what does not hide it. */
const edits: readonly (readonly [name: string, settings: (upstream: string) => Settings])[] = [
  ['listen.basePath', () => ({ listen: { basePath: '/base' } })],
  ['listen.forwarded, and what the gateway says of itself', () => ({ listen: forwarded, ...ofItself })],
  ['listen.proxyProtocol', () => ({ listen: { proxyProtocol: { from: proxy } } })],
  ['listen.hosts', () => ({ listen: { hosts: ['other.example'] } })],
  ['the limits of listen, and operations', () => ({ listen: limits, operations })],
  ['admin and auth', () => ({ admin, auth, clients, operations: { 'market.insights': { auth: 'none' } } })],
  [
    'upstreams',
    (url) => ({
      limits: { address: { rate: '1/min', burst: 100 } },
      operations: { 'market.insights': { cache: { shared: true } } },
      upstreams: {
        market: { endpoints: [`${url}/v2`], host: 'client', response: { set: { 'X-A': 'b' } } },
        leads: { endpoints: [url], candidate: { endpoints: [`${url}/next`], share: '100%', expose: 'X-Side' } },
      },
    }),
  ],
]

const host = 'Host: gateway.example\r\n'
const requests: readonly string[] = [
  `GET /market/insights HTTP/1.1\r\n${host}X-Request-Id: a\r\nX-Trace: b\r\nX-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.2\r\n\r\n`,
  `GET /base/market/insights HTTP/1.1\r\n${host}\r\n`,
  `GET /market/insights?${'q'.repeat(200)} HTTP/1.1\r\n${host}X-Long: ${'x'.repeat(2000)}\r\n\r\n`,
  `GET /leads/pipeline HTTP/1.1\r\n${host}${'X-Many: 1\r\n'.repeat(9)}\r\n`,
  `PROXY TCP4 192.0.2.3 192.0.2.4 5 6\r\nGET /market/insights HTTP/1.1\r\n${host}\r\n`,
  `POST /valuation/score HTTP/1.1\r\n${host}Content-Type: text/plain\r\nContent-Length: 2000\r\n\r\n${'b'.repeat(2000)}`,
  `GET /unknown HTTP/1.1\r\n${host}\r\n`,
]

/** Echoes what arrived, and how it was asked. */
const openEcho = (): Promise<TestUpstream> =>
  httpUpstream(({ url, rawHeaders }, response) => {
    response.sendDate = false
    response.end(JSON.stringify([url, rawHeaders]))
  })

/** Leaves out what is another at each gateway: the time, its port, its name in `Via`, and the ids that it makes. */
const withoutOwn = (text: string): string =>
  text
    .replaceAll(/^Date: .*\r\n/gm, '')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'ADDRESS')
    .replaceAll(/lender-gateway-[0-9a-f]{8}/g, 'VIA')
    .replaceAll(/\b[0-9a-f]{32}\b/g, 'ID')
    .replaceAll(/(dur|ttl|reset|t|r)=[\d.]+/gi, '$1')

const observe = async ({ gateway, admin }: LiveGateway): Promise<readonly string[]> => {
  const responses: string[] = []
  // One after the other: the cache and the limits count them.
  for (const request of requests) responses.push(withoutOwn(await exchangeRaw(gateway.address.port, request)))
  const [config, bare, metrics] = await Promise.all([
    fetch(`${admin}/config`, { headers: { authorization: `Bearer ${token}` } }).then((response) => response.text()),
    fetch(`${admin}/config`).then(({ status }) => String(status)),
    fetch(`${admin}/metrics`).then(({ status }) => String(status)),
  ])
  return [...responses, withoutOwn(config), bare, metrics]
}

test('a gateway that is edited again and again is each time as one that was started with the file', async () => {
  const upstream = await openEcho()
  const edited = await bootLiveGateway({ upstream: upstream.url })

  for (const [name, next] of edits) {
    const settings = { upstream: upstream.url, ...next(upstream.url) }
    edited.edit(settings)
    const { result } = await edited.gateway.reload('request')
    const started = await bootLiveGateway(settings)

    expect([name, result]).toEqual([name, 'applied'])
    expect([name, await observe(edited)]).toEqual([name, await observe(started)])
  }
})
