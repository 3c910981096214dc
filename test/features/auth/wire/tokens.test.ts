import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type AuthorizationServer,
  gatewayClient,
  openAuthorizationServer,
} from '../../../helpers/authorization-server.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { type LiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

const resource = 'https://gateway.example'

let server: AuthorizationServer
let live: LiveGateway
let upstream: TestUpstream

beforeAll(async () => {
  server = await openAuthorizationServer()
  upstream = await openHttpUpstream((request, response) => response.end(JSON.stringify(request.rawHeaders)))
  const { id: clientId, secret: clientSecret } = gatewayClient
  live = await shareLiveGateway({
    upstream: upstream.url,
    auth: {
      methods: ['jwt', 'introspection'],
      jwt: { issuer: server.url, audience: [resource], jwks: `${server.url}/jwks`, algorithms: ['ES256'] },
      introspection: { url: `${server.url}/token/introspection`, clientId, clientSecret, cache: '10m' },
      identityField: 'X-Client-Id',
    },
    clients: [{ id: 'bank-a', claims: { client_id: 'bank-a-robot' }, operations: 'all' }],
    operations: { 'leads.pipeline': { auth: { scopes: ['leads.read'] } } },
  })
})

afterAll(() => Promise.all([server.close(), upstream.close()]))

const shows = (token: string, path = '/market/insights', scheme = 'Bearer'): Promise<Response> =>
  fetch(live.url + path, { headers: { authorization: `${scheme} ${token}` } })

test.each([
  ['a JWT that it signed', resource, 'jwt'],
  ['an opaque token that it knows', null, 'introspection'],
])('a client of a real authorization server is let in with %s', async (_, wanted, method) => {
  const token = await server.token(wanted)

  const response = await shows(token, '/leads/pipeline', 'bearer')
  const fields = (await response.json()) as readonly string[]

  expect(response.status).toBe(200)
  expect(fields[fields.indexOf('X-Client-Id') + 1]).toBe('bank-a')
  expect(fields.join()).not.toContain(token)
  expect(await live.line(({ auth }) => auth === method)).toMatchObject({ clientId: 'bank-a', auth: method })
})

test('a token that was ended is no good, nor is one that the server never made', async () => {
  const token = await server.token(null)
  await server.revoke(token)

  for (const wrong of [token, 'made-up', await server.token('https://other.example')]) {
    const response = await shows(wrong)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="lender-gateway", error="invalid_token"')
  }
})

test('a client without a credential gets one challenge, without an error', async () => {
  const { status, headers } = await fetch(`${live.url}/market/insights`)

  expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="lender-gateway"'])
})

test('keys are rotated, and no client is rejected', async () => {
  const before = await server.token(resource)
  await server.rotate()

  const statuses = await Promise.all(
    [before, await server.token(resource)].map(async (token) => (await shows(token)).status),
  )

  expect(statuses).toEqual([200, 200])
})

test('while the introspection server is down, and there are no keys, no token gets in', async () => {
  const gone = await bootGateway({
    auth: {
      methods: ['jwt', 'introspection'],
      // Nothing listens on a port that no system gives away.
      jwt: { issuer: 'https://a', audience: ['b'], jwks: 'http://127.0.0.1:1/jwks' },
      introspection: { url: 'http://127.0.0.1:1/', clientId: 'a', clientSecret: 'the secret of the gateway' },
    },
  })

  expect(await gone.line(({ msg }) => msg === 'keys of the issuer cannot be fetched')).toMatchObject({ level: 40 })
  for (const token of ['opaque', await server.token(resource)]) {
    const response = await fetch(`${gone.url}/market/insights`, { headers: { authorization: `Bearer ${token}` } })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toMatchObject({ code: 'identity-unavailable' })
  }
})
