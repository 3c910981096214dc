/**
 * What of a request was wrong, in the bounded word of its access line: over real sockets, because the parser of a
 * connection says most of it.
 */
import { hash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openGateway, type TestGateway } from '../../helpers/gateway.ts'
import { exchangeRaw } from '../../helpers/raw-client.ts'
import { audience, issuer, jwks, signingKey } from '../../helpers/tokens.ts'

const secret = 'A'.repeat(43)
let gateway: TestGateway

beforeAll(async () => {
  gateway = await openGateway({
    listen: { maxHeaderFields: 20 },
    auth: { methods: ['apiKey', 'jwt'], jwt: { issuer, audience: [audience], jwks: jwks(signingKey('ES256', 'key')) } },
    clients: [
      { id: 'bank-a', operations: ['market.insights'], apiKeys: [{ id: 'key', sha256: hash('sha256', secret) }] },
    ],
    operations: {
      'inventory.sync': { auth: 'none', maxBody: '10B' },
      'leads.pipeline': { auth: 'none', state: 'reject' },
    },
  })
})
afterAll(() => gateway.gateway.close())

const get = (target: string, ...fields: readonly string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: gateway', 'Connection: close', ...fields, '', ''].join('\r\n')
const insights = (...fields: readonly string[]): string => get('/market/insights', ...fields)
const post = (...fields: readonly string[]): string =>
  ['POST /inventory/sync HTTP/1.1', 'Host: gateway', 'Connection: close', ...fields, '', ''].join('\r\n')

test.each<[string, string | undefined, string]>([
  ['bad-request', 'bad-method', 'nonsense\r\n\r\n'],
  ['bad-request', 'bad-version', insights().replace('HTTP/1.1', 'HTTP/x')],
  ['bad-request', 'bad-version', insights().replace('HTTP/1.1', 'JUNK')],
  ['bad-request', 'bad-target', get('/market/in sights').replace('in sights', 'in\x01sights')],
  ['bad-request', 'bad-target', get('/market/insights#a')],
  ['bad-request', 'bad-field', insights('A : b')],
  ['bad-request', 'bad-field', insights('A\x01: b')],
  ['bad-request', 'bad-host', insights('Host: b')],
  ['bad-request', 'bad-length', insights('Content-Length: x')],
  ['bad-request', 'bad-transfer-coding', post('Content-Length: 1', 'Transfer-Encoding: chunked')],
  ['bad-request', 'bad-transfer-coding', insights('Transfer-Encoding: gzip')],
  ['bad-request', 'bad-chunk', `${post('Transfer-Encoding: chunked')}zz\r\n`],
  ['bad-request', 'several-credentials', insights('Authorization: Bearer a', 'Authorization: Bearer b')],
  ['bad-request', 'bad-credential', insights('Authorization: Bearer a b')],
  ['bad-request', 'token-in-query', get('/market/insights?access_token=a')],
  ['header-too-large', 'too-many-fields', insights(...Array.from({ length: 30 }, (_, i) => `A${i}: b`))],
  ['header-too-large', 'fields-too-large', insights(`A: ${'b'.repeat(40_000)}`)],
  ['content-too-large', 'body-too-large-declared', `${post('Content-Length: 11')}${'x'.repeat(11)}`],
  [
    'content-too-large',
    'body-too-large-streamed',
    `${post('Transfer-Encoding: chunked')}b\r\nhello world\r\n0\r\n\r\n`,
  ],
  ['rejected-by-operator', 'state-reject', get('/leads/pipeline')],
  ['unauthenticated', 'no-credential', insights()],
  ['unauthenticated', 'unknown-key', insights(`X-Api-Key: nobody.${secret}`)],
  ['unauthenticated', 'wrong-secret', insights(`X-Api-Key: key.${'B'.repeat(43)}`)],
  ['unauthenticated', 'other-token-flaw', insights('Authorization: Bearer a')],
  ['forbidden', 'wrong-operation', get('/compliance/audit-trail', `X-Api-Key: key.${secret}`)],
  ['not-found', undefined, get('/nowhere')],
  ['method-not-allowed', undefined, insights().replace('GET', 'DELETE')],
])('%s: %s', async (failure, reason, bytes) => {
  const before = gateway.lines.length

  await exchangeRaw(gateway.port, bytes)

  const line = await gateway.line((each) => gateway.lines.indexOf(each) >= before && each.msg === 'exchange')
  expect({ failure: line.failure, reason: line.reason }).toEqual({ failure, reason })
})
