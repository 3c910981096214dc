import { expect, test } from 'vitest'
import { bootApiKeyGateway, key } from '../../helpers/api-key-gateway.ts'
import { exchangeRaw, parseStatus } from '../../helpers/raw-client.ts'

const fields = `Host: gateway\r\nX-Api-Key: ${key}\r\nConnection: close\r\n`

// The attack: a client that may call one operation asks for another, plainly, in another spelling, or by naming it
// where a back end or a framework may look for what was meant.
const ways = [
  ['the operation itself', 'GET /leads/pipeline', '', 403],
  ['its absolute form', 'GET http://gateway/leads/pipeline', '', 403],
  ['an alias of it', 'GET /market/../leads/pipeline', '', 404],
  ['an encoded alias', 'GET /%6ceads/pipeline', '', 404],
  ['the one that it may call, behind it', 'GET /leads/pipeline?/market/insights', '', 403],
  [
    'a target in a field',
    'GET /market/insights',
    'X-Original-URL: /leads/pipeline\r\nX-Rewrite-URL: /leads/pipeline\r\n',
    200,
  ],
  ['a method in a field', 'GET /market/insights', 'X-HTTP-Method-Override: POST\r\n', 200],
  ['what a proxy says was asked for', 'GET /market/insights', 'X-Forwarded-Uri: /leads/pipeline\r\n', 200],
] as const

test('a client that may call one operation gets nowhere but there', async () => {
  const { gateway, upstream } = await bootApiKeyGateway(['market.insights'])

  for (const [how, line, more, status] of ways) {
    const before = upstream.requests.length
    const received = await exchangeRaw(gateway.port, `${line} HTTP/1.1\r\n${fields}${more}\r\n`)

    const arrived = upstream.requests.slice(before)
    expect([how, parseStatus(received)]).toEqual([how, status])
    expect(arrived.map(({ method, url }) => [method, url])).toEqual(status === 200 ? [['GET', '/market/insights']] : [])
    expect(arrived.flatMap(({ rawHeaders }) => rawHeaders).join()).not.toMatch(/x-forwarded-uri/i)
  }
})
