/** Tokens that a real authorization server has bound, to a certificate (RFC 8705) and to a key (RFC 9449). */
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { certificateThumbprint } from '../../../../src/features/auth/client-certificate.ts'
import {
  type AuthorizationServer,
  gatewayClient,
  openAuthorizationServer,
} from '../../../helpers/authorization-server.ts'
import { type Certificates, makeCertificates } from '../../../helpers/certificates.ts'
import { clientCertField } from '../../../helpers/client-cert.ts'
import { type DpopClient, makeDpopClient } from '../../../helpers/dpop.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'
import { receivedNames, roundTrip } from '../../../helpers/round-trip.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import { boundTargetUrl, boundToken, tokenBindingSettings } from '../../../helpers/token-binding.ts'
import { signingKey } from '../../../helpers/tokens.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const openssl = await needProgram('openssl')
const resource = 'https://gateway.example'
const kinds = [
  ['a JWT', resource],
  ['an opaque token', null],
] as const

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

  const boot = () =>
    bootTlsGateway(
      made.right,
      { clientCertificates: 'optional', clientCa: made.authority.cert },
      {
        listen: { publicUrl: resource },
        auth: {
          methods: ['jwt', 'introspection'],
          jwt: { issuer: server.url, audience: [resource], jwks: `${server.url}/jwks` },
          introspection: {
            url: `${server.url}/token/introspection`,
            clientId: gatewayClient.id,
            clientSecret: gatewayClient.secret,
          },
          bound: 'required',
          dpop: {},
        },
        clients: ['bank-a-robot', 'bank-b-robot'].map((id) => ({
          ...{ id, claims: { client_id: id } },
          operations: ['market.insights'],
        })),
      },
    )

  test.each(kinds)('%s that is bound to a certificate is good with that one alone', async (_, wanted) => {
    const { port } = await boot()
    const token = await server.boundToken(wanted, { certificate: made.client.cert })
    const shown = [`Authorization: Bearer ${token}`]

    const [own, others, none] = [
      await requestOverTls(port, made.client, shown),
      await requestOverTls(port, made.bankA, shown),
      await requestOverTls(port, {}, shown),
    ]

    expect([own.status, others.status, none.status]).toEqual([200, 401, 401])
  })

  test.each(kinds)('%s that is bound to a key is good with a proof, once each', async (_, wanted) => {
    const { port } = await boot()
    const asked = { token: '', htm: 'POST', htu: `${server.url}/token`, claims: { ath: undefined } }
    const token = await server.boundToken(wanted, { proof: await holder.prove(asked) })
    const ask = async (proof: string, scheme = 'DPoP') =>
      (await requestOverTls(port, {}, [`Authorization: ${scheme} ${token}`, `DPoP: ${proof}`])).status
    const prove = (): Promise<string> => holder.prove({ token, htu: `${resource}/market/insights` })
    const [one, other] = [await prove(), await prove()]

    expect([await ask(one), await ask(one), await ask(other), await ask(await prove(), 'Bearer')]).toEqual([
      200, 401, 200, 401,
    ])
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

  test('a token that is bound to nothing is not taken', async () => {
    const { port } = await boot()

    const { status, text } = await requestOverTls(port, {}, [`Authorization: Bearer ${await server.token(resource)}`])

    expect(status).toBe(401)
    expect(text).toContain('WWW-Authenticate: Bearer realm="lender-gateway", error="invalid_token"\r\n')
  })
})

test('a bound token that lacks a scope gets a challenge in the scheme that it came with', async () => {
  const [key, holder] = [signingKey('ES256', 'issuer'), await makeDpopClient()]
  const operations = { 'market.insights': { auth: { scopes: ['insights.read'] } } }
  const { port } = await bootGateway({ ...tokenBindingSettings(key), operations })
  const token = boundToken(key, { jkt: holder.jkt })
  const fields = [`Authorization: DPoP ${token}`, `DPoP: ${await holder.prove({ token, htu: boundTargetUrl })}`]

  const response = await exchangeRaw(
    port,
    `GET /market/insights HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${fields.join('\r\n')}\r\n\r\n`,
  )

  expect(parseStatus(response)).toBe(403)
  expect(response).toContain(
    'WWW-Authenticate: DPoP realm="lender-gateway", error="insufficient_scope", scope="insights.read", algs="ES256 ',
  )
})
