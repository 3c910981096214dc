import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import {
  type AuthorizationServer,
  gatewayClient,
  openAuthorizationServer,
} from '../../../helpers/authorization-server.ts'
import { openGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

const resource = 'https://gateway.example'

let server: AuthorizationServer
let upstream: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  server = await openAuthorizationServer()
  upstream = await openHttpUpstream((request, response) => response.end(JSON.stringify(request.rawHeaders)))
  gateway = await openGateway({
    upstream: upstream.url,
    auth: {
      methods: ['jwt', 'introspection'],
      jwt: { issuer: server.url, audience: [resource], jwks: `${server.url}/jwks`, algorithms: ['ES256'] },
      introspection: {
        url: `${server.url}/token/introspection`,
        clientId: gatewayClient.id,
        clientSecret: gatewayClient.secret,
        cache: '10m',
      },
      identityField: 'X-Client-Id',
    },
    clients: [
      {
        id: 'bank-a',
        claims: { client_id: 'bank-a-robot' },
        operations: ['market.insights', 'leads.pipeline', 'analysis.esg-grant'],
      },
    ],
    operations: {
      'leads.pipeline': { auth: { scopes: ['leads.read'] } },
      'analysis.esg-grant': { auth: { scopes: ['leads.read', 'grants.read'] } },
    },
  })
})

afterAll(async () => {
  await gateway.gateway.close()
  await upstream.close()
  await server.close()
})

const shows = (token: string, path = '/market/insights', scheme = 'Bearer'): Promise<Response> =>
  fetch(gateway.url + path, { headers: { authorization: `${scheme} ${token}` } })

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
  expect(await gateway.line(({ auth }) => auth === method)).toMatchObject({ clientId: 'bank-a', auth: method })
})

test('what is known of a token is not asked again', async () => {
  const token = await server.token(null)
  const before = server.asked('/token/introspection')

  await Promise.all(Array.from({ length: 3 }, () => shows(token)))

  expect(server.asked('/token/introspection')).toBe(before + 1)
})

test('a token that lacks a scope gets a challenge that names the required ones', async () => {
  const response = await shows(await server.token(resource), '/analysis/esg-grant')

  expect(response.status).toBe(403)
  expect(response.headers.get('www-authenticate')).toBe(
    'Bearer realm="lender-gateway", error="insufficient_scope", scope="leads.read grants.read"',
  )
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
  const response = await fetch(`${gateway.url}/market/insights`)

  expect(response.status).toBe(401)
  expect(response.headers.get('www-authenticate')).toBe('Bearer realm="lender-gateway"')
})

test('keys are rotated under load, and no client is rejected', async () => {
  const statuses: number[] = []
  let rotations = 0
  const client = async (): Promise<void> => {
    while (rotations < 3) statuses.push((await shows(await server.token(resource))).status)
  }

  const clients = Promise.all(Array.from({ length: 3 }, client))
  for (; rotations < 3; rotations++) {
    const enough = statuses.length + 12
    await server.rotate()
    while (statuses.length < enough)
      await shows(await server.token(resource)).then(({ status }) => statuses.push(status))
  }
  await clients

  expect(statuses.filter((status) => status !== 200)).toEqual([])
  expect(statuses.length).toBeGreaterThan(36)
})

test('while the introspection server is down, only known tokens get in', async () => {
  const gone = await openGateway({
    upstream: upstream.url,
    auth: {
      methods: ['jwt', 'introspection'],
      // Nothing listens on a port that no system gives away.
      jwt: { issuer: 'https://a', audience: ['b'], jwks: 'http://127.0.0.1:1/jwks' },
      introspection: { url: 'http://127.0.0.1:1/', clientId: 'a', clientSecret: 'the secret of the gateway' },
    },
  })
  onTestFinished(() => gone.gateway.close())

  for (const token of ['opaque', await server.token(resource)]) {
    const response = await fetch(`${gone.url}/market/insights`, { headers: { authorization: `Bearer ${token}` } })
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toMatchObject({ code: 'identity-unavailable' })
  }
})
