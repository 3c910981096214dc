import { expect, test } from 'vitest'
import { folderWith } from '../../core/config/helper.ts'
import { freePort } from '../../helpers/free-port.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../helpers/raw-client.ts'
import { secretEncodings } from '../../helpers/secret-leaks.ts'
import { spanReceiver } from '../../helpers/span-receiver.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

// The attack: spans go to another system with other readers. An attacker among them looks for a credential, or for
// anything that a client wrote.
const places = [
  ...(['query', 'body', 'field', 'bearer', 'cookie', 'key', 'id', 'state', 'parent', 'agent'] as const),
  ...(['path', 'set', 'response', 'receiver'] as const),
]
type Planted = Readonly<Record<(typeof places)[number] | 'host' | 'forwarded', string>>
const planted = {
  ...Object.fromEntries(places.map((place) => [place, `planted-as-${place}`])),
  ...{ host: 'planted-as-host.example', forwarded: '203.0.113.77' },
} as Planted

test('nothing that a client wrote, and no credential, stands in a span; what the receiver is shown stands nowhere', async () => {
  const [receiver, nobody] = [await spanReceiver(), await freePort()]
  const upstream = await httpUpstream(({ url }, response) => {
    if (url.includes('cut')) return void response.socket?.destroy()
    response.writeHead(url.includes('fail') ? 503 : 200, { 'X-Response': planted.response }).end(planted.response)
  })
  const folder = folderWith({ token: `Bearer ${planted.receiver}` })
  const live = await bootLiveGateway({
    upstream: { endpoints: [upstream.url], request: { set: { 'X-Team': planted.set } }, retry: { attempts: 2 } },
    upstreams: { compliance: `http://127.0.0.1:${nobody}` },
    listen: { trustedProxies: ['127.0.0.1'], getContent: 'forward' },
    auth: { methods: ['apiKey'] },
    clients: [],
    operations: Object.fromEntries(
      ['market.insights', 'compliance.audit-trail', 'inventory.sync'].map((id) => [id, { auth: 'none' }]),
    ),
    tracing: { otlp: receiver.url, headers: { Authorization: `file:${folder}/token` }, sample: '100%' },
    log: { level: 'trace' },
  })
  const { port } = live.gateway.address
  const fields = [
    `Host: ${planted.host}`,
    `X-Custom: ${planted.field}`,
    `Authorization: Bearer ${planted.bearer}`,
    `Cookie: session=${planted.cookie}`,
    `X-Api-Key: a.${planted.key}`,
    `X-Request-Id: ${planted.id}`,
    `X-Forwarded-For: ${planted.forwarded}`,
    `X-Forwarded-Host: ${planted.host}`,
    `User-Agent: ${planted.agent}`,
    `Content-Length: ${planted.body.length}`,
    'Connection: close',
  ]
  const sound = [
    'traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    `tracestate: a=${planted.state}`,
  ]
  const ask = async (line: string, more: readonly string[]): Promise<number> =>
    parseStatus(await exchangeRaw(port, [`${line} HTTP/1.1`, ...fields, ...more, '', planted.body].join('\r\n')))

  const query = `?q=${planted.query}`
  const odd = `traceparent: cc-${'a'.repeat(32)}-${'b'.repeat(16)}-01-${planted.parent}`
  for (const [line, status, more] of [
    [`GET /market/insights${query}`, 200, sound],
    [`GET /market/insights${query}`, 200, [`traceparent: ${planted.parent}`]],
    [`GET /market/insights${query}`, 200, [odd]],
    [`GET /market/insights${query}&fail`, 503, sound],
    [`GET /market/insights${query}&cut`, 502, sound],
    [`POST /inventory/sync${query}`, 200, sound],
    [`GET /compliance/audit-trail${query}`, 502, sound],
    [`POST /valuation/score${query}`, 401, sound],
    [`GET /${planted.path}`, 404, sound],
  ] as const)
    expect([line, await ask(line, more)]).toEqual([line, status])
  const config = await (await fetch(`${live.admin}/config`)).text()
  await live.gateway.close()

  expect(receiver.batches.map(({ headers }) => headers.authorization)).toContain(`Bearer ${planted.receiver}`)
  expect(receiver.spans.filter(({ kind }) => kind === 'server')).toHaveLength(8)
  const bytes = receiver.bytes().toString('latin1')
  expect(bytes).toContain('connect-failed')
  expect(config).toContain('"Authorization":"***"')
  const texts = { spans: bytes, config, log: JSON.stringify(live.lines) }
  const isOfTheLog: readonly string[] = [planted.id, planted.forwarded] // the access line has them, as it always had
  const found = Object.values(planted).flatMap((secret) =>
    Object.entries(texts).flatMap(([where, all]) => {
      if (where === 'log' && isOfTheLog.includes(secret)) return []
      return secretEncodings(secret).some((each) => all.toLowerCase().includes(each.toLowerCase()))
        ? [[where, secret]]
        : []
    }),
  )
  expect(found).toEqual([])
})
