import { X509Certificate } from 'node:crypto'
import { afterAll, describe, expect, test } from 'vitest'
import { certificateThumbprint } from '../../../../src/features/auth/client-certificate.ts'
import { gatewayClient, openAuthorizationServer } from '../../../helpers/authorization-server.ts'
import { needCertificates, type Pair } from '../../../helpers/certificates.ts'
import { clientCertField } from '../../../helpers/client-cert.ts'
import { makeDpopClient } from '../../../helpers/dpop.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { fetchAdmin, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { receivedNames, roundTrip } from '../../../helpers/round-trip.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import { boundToken, tokenBindingSettings } from '../../../helpers/token-binding.ts'
import { signingKey } from '../../../helpers/tokens.ts'
import { httpUpstream, openHttpUpstream } from '../../../helpers/upstream.ts'

const { made, missing } = await needCertificates()
const resource = 'https://gateway.example'

const server = await openAuthorizationServer()
const upstream = await openHttpUpstream((request, response) => response.end(JSON.stringify(request.rawHeaders)))
afterAll(() => Promise.all([server.close(), upstream.close()]))

const introspection = () => ({
  ...{ url: `${server.url}/token/introspection`, clientId: gatewayClient.id, clientSecret: gatewayClient.secret },
})

const live = await shareLiveGateway({
  upstream: upstream.url,
  auth: {
    methods: ['jwt', 'introspection'],
    jwt: { issuer: server.url, audience: [resource], jwks: `${server.url}/jwks`, algorithms: ['ES256'] },
    introspection: { ...introspection(), cache: '10m' },
    identityField: 'X-Client-Id',
  },
  clients: [{ id: 'bank-a', claims: { client_id: 'bank-a-robot' }, operations: 'all' }],
  operations: { 'leads.pipeline': { auth: { scopes: ['leads.read'] } } },
})

const shows = (token: string, path = '/market/insights', scheme = 'Bearer'): Promise<Response> =>
  fetch(live.url + path, { headers: { authorization: `${scheme} ${token}` } })

test('its keys are fetched, if late on a busy machine', async () => {
  const tokens = async () => (await fetchAdmin(`${live.admin}/status`)).body.tokens

  await expect.poll(tokens).toMatchObject({ jwt: { keys: 1 } })
})

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

// Bound to a certificate (RFC 8705), and to a key (RFC 9449).
describe.skipIf(missing)('a bound token of a real authorization server', () => {
  test('is good with its certificate alone, or with a proof of its key, once each', async () => {
    const holder = await makeDpopClient()
    const { port } = await bootTlsGateway(
      made.right,
      { clientCertificates: 'optional', clientCa: made.authority.cert },
      {
        listen: { publicUrl: resource },
        auth: {
          methods: ['jwt', 'introspection'],
          jwt: { issuer: server.url, audience: [resource], jwks: `${server.url}/jwks` },
          introspection: introspection(),
          bound: 'required',
          dpop: {},
        },
        clients: ['bank-a-robot', 'bank-b-robot'].map((id) => ({ id, claims: { client_id: id }, operations: 'all' })),
      },
    )
    const statusOf = async (shown: Partial<Pair>, token: string, scheme = 'Bearer', ...more: readonly string[]) =>
      (await requestOverTls(port, shown, [`Authorization: ${scheme} ${token}`, ...more])).status

    // A JWT, and an opaque token.
    for (const wanted of [resource, null]) {
      const token = await server.boundToken(wanted, { certificate: made.client.cert })
      const shown = [made.client, made.bankA, {}].map((certificate) => statusOf(certificate, token))

      expect(await Promise.all(shown)).toEqual([200, 401, 401])
    }
    for (const wanted of [resource, null]) {
      const asked = { token: '', htm: 'POST', htu: `${server.url}/token`, claims: { ath: undefined } }
      const token = await server.boundToken(wanted, { proof: await holder.prove(asked) })
      const prove = async () => `DPoP: ${await holder.prove({ token, htu: `${resource}/market/insights` })}`
      const one = await prove()
      const statuses = []
      for (const proof of [one, one, await prove()]) statuses.push(await statusOf({}, token, 'DPoP', proof))

      expect([...statuses, await statusOf({}, token, 'Bearer', await prove())]).toEqual([200, 401, 200, 401])
    }
    expect(await statusOf({}, await server.token(resource))).toBe(401) // it is bound to nothing
  })

  test('the field of the certificate goes to no upstream, and keeps no request out of the cache', async () => {
    const upstream = await httpUpstream((_, response) => {
      response.setHeader('Cache-Control', 'max-age=60')
      response.end('insights')
    })
    const key = signingKey('ES256', 'issuer')
    const { auth = {}, clients = [] } = tokenBindingSettings(key, { dpop: 'none', mtls: { from: 'client-cert' } })
    const listen = { trustedProxies: ['127.0.0.1'] }
    const operations = { 'market.insights': { cache: true } }
    const { port } = await bootGateway({ upstream: upstream.url, listen, auth, clients, operations })
    const token = boundToken(key, { 'x5t#S256': certificateThumbprint(new X509Certificate(made.client.cert)) })
    const shown = clientCertField(made.client.cert)
    const fields = [`Authorization: Bearer ${token}`, `Client-Cert: ${shown}`, `Client-Cert-Chain: ${shown}`]
    const request = ['GET /market/insights HTTP/1.1', 'Host: a', 'Connection: close', ...fields, '\r\n'].join('\r\n')

    const first = await roundTrip(port, upstream, request)
    const again = await roundTrip(port, upstream, request)

    expect([first.response.status, again.response.status]).toEqual([200, 200])
    expect(receivedNames(first.arrived[0]).filter((name) => name.startsWith('client-cert'))).toEqual([])
    expect(again.arrived).toEqual([])
  })
})
