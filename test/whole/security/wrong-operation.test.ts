import { expect, test } from 'vitest'
import { bootApiKeyGateway, key } from '../../helpers/api-key-gateway.ts'
import { rawClient } from '../../helpers/raw-client.ts'

const fields = `Host: gateway\r\nX-Api-Key: ${key}\r\nConnection: close\r\n`

// The attack: a client that may call one operation asks for another, plainly, in another spelling, or by naming it
// where a back end or a framework may look for what was meant.
test.each([
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
])('by %s it gets nowhere but where it may', async (_, line, more, status) => {
  const { gateway, upstream } = await bootApiKeyGateway(['market.insights'])
  const client = await rawClient(gateway.port)
  client.send(`${line} HTTP/1.1\r\n${fields}${more}\r\n`)

  const { received } = await client.ended()

  expect(received).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(upstream.requests.map(({ method, url }) => [method, url])).toEqual(
    status === 200 ? [['GET', '/market/insights']] : [],
  )
  expect(upstream.requests.flatMap(({ rawHeaders }) => rawHeaders).join()).not.toMatch(/x-forwarded-uri/i)
})
