/** Tokens that a real authorization server has bound, to a certificate (RFC 8705) and to a key (RFC 9449). */
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { certificateThumbprint } from '../../../../src/features/auth/client-certificate.ts'
import {
  type AuthorizationServer,
  gatewayClient,
  openAuthorizationServer,
} from '../../../helpers/authorization-server.ts'
import { type Certificates, makeCertificates, type Pair } from '../../../helpers/certificates.ts'
import { clientCertField } from '../../../helpers/client-cert.ts'
import { type DpopClient, makeDpopClient } from '../../../helpers/dpop.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { receivedNames, roundTrip } from '../../../helpers/round-trip.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import { boundToken, tokenBindingSettings } from '../../../helpers/token-binding.ts'
import { signingKey } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const openssl = await needProgram('openssl')
const resource = 'https://gateway.example'
describe.skipIf(openssl.missing)('of a real authorization server', () => {
  let made: Certificates
  let server: AuthorizationServer
  let holder: DpopClient
  beforeAll(async () => {
    made = makeCertificates(openssl.path ?? '')
    server = await openAuthorizationServer()
    holder = await makeDpopClient()
  })
  afterAll(() => server.close())

  test('one that is bound to a certificate is good with that one alone, one bound to a key with a proof, once each', async () => {
    const { id: clientId, secret: clientSecret } = gatewayClient
    const { port } = await bootTlsGateway(
      made.right,
      { clientCertificates: 'optional', clientCa: made.authority.cert },
      {
        listen: { publicUrl: resource },
        auth: {
          methods: ['jwt', 'introspection'],
          jwt: { issuer: server.url, audience: [resource], jwks: `${server.url}/jwks` },
          introspection: { url: `${server.url}/token/introspection`, clientId, clientSecret },
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
