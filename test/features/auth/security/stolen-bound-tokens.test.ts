import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { certificateThumbprint } from '../../../../src/features/auth/client-certificate.ts'
import { type Certificates, makeCertificates } from '../../../helpers/certificates.ts'
import { clientCertField } from '../../../helpers/client-cert.ts'
import { type DpopClient, makeDpopClient, type ProofOptions } from '../../../helpers/dpop.ts'
import { bootGateway, openGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import {
  boundTargetUrl,
  boundToken,
  publicUrl,
  requestWithFields,
  tokenBindingSettings,
} from '../../../helpers/token-binding.ts'
import { signingKey, signToken as unbound } from '../../../helpers/tokens.ts'

const openssl = await needProgram('openssl')

describe('by a proof:', () => {
  const key = signingKey('ES256', 'issuer')

  let holder: DpopClient
  let other: DpopClient
  let token: string
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await openGateway(tokenBindingSettings(key))
    holder = await makeDpopClient()
    other = await makeDpopClient()
    token = boundToken(key, { jkt: holder.jkt })
  })
  afterAll(() => gateway.gateway.close())

  const send = (scheme: string, shown: string, proofs: readonly string[]) =>
    requestWithFields(gateway.port, [`Authorization: ${scheme} ${shown}`, ...proofs.map((proof) => `DPoP: ${proof}`)])

  // The attack: an attacker who has got hold of a token sends a proof of his own, or one that its owner made for
  // something else.
  // Which proofs are rejected is `dpop.test.ts`'s.
  test('a proof of another key, or for another operation, is rejected, and neither stands in the log', async () => {
    for (const [proof, cause] of [
      [await other.prove({ token, htu: boundTargetUrl }), 'the proof is of another key'],
      [await holder.prove({ token, htu: `${publicUrl}/leads/pipeline` }), 'the proof is for another target'],
    ] as const) {
      expect(await send('DPoP', token, [proof])).toBe(401)
      await gateway.line((told) => told.cause === cause)
      for (const part of [...proof.split('.'), ...token.split('.')])
        expect(JSON.stringify(gateway.lines)).not.toContain(part)
    }
  })

  test('without a proof, or with two, a bound token is worth nothing, whatever it is called', async () => {
    const right: ProofOptions = { token, htu: boundTargetUrl }
    const [one, two] = [await holder.prove(right), await holder.prove(right)]

    expect(await send('DPoP', token, [])).toBe(401)
    expect(await send('DPoP', token, [one, two])).toBe(401)
    expect(await send('Bearer', token, [])).toBe(401)
    expect(await send('Bearer', token, [one])).toBe(401)
    expect(await send('DPoP', token, [one])).toBe(200)
  })

  test('a token that is bound to nothing is none of DPoP', async () => {
    const plain = unbound(key)
    const proof = await holder.prove({ token: plain, htu: boundTargetUrl })

    expect(await send('DPoP', plain, [proof])).toBe(401)
    expect(await send('Bearer', plain, [])).toBe(200)
  })

  test.each([
    ['where a token has to be bound, one that is not', { bound: 'required' }, () => unbound(key)],
    ['where proofs are not taken, one that is bound to a key', { dpop: 'none' }, () => token],
  ])('%s is rejected', async (_, auth, toToken) => {
    const { port } = await bootGateway(tokenBindingSettings(key, auth))

    expect(await requestWithFields(port, [`Authorization: Bearer ${toToken()}`])).toBe(401)
  })
})

describe('by a certificate:', () => {
  const key = signingKey('ES256', 'issuer')

  // The attack: a client of the same gateway, with a good certificate of its own, has got hold of a token that was
  // issued to another (RFC 8705 §3).
  describe.skipIf(openssl.missing)('a token that is bound to a certificate', () => {
    let made: Certificates
    let token: string
    beforeAll(() => {
      made = makeCertificates(openssl.path ?? '')
      token = boundToken(key, { 'x5t#S256': certificateThumbprint(new X509Certificate(made.client.cert)) })
    })
    const { auth = {}, clients = [] } = tokenBindingSettings(key, { dpop: 'none', bound: 'required' })

    test('is worth nothing on the connection of another client', async () => {
      const tls = { clientCertificates: 'optional', clientCa: made.authority.cert }
      const { port, line } = await bootTlsGateway(made.right, tls, { auth, clients })
      const shown = [`Authorization: Bearer ${token}`]

      const own = await requestOverTls(port, made.client, shown)
      const resumed = await requestOverTls(port, { session: own.session }, shown)
      const others = await requestOverTls(port, made.bankA, shown)
      const none = await requestOverTls(port, {}, shown)

      expect([own.status, resumed.status, resumed.resumed, others.status, none.status]).toEqual([
        200,
        200,
        true,
        401,
        401,
      ])
      expect(others.text).toContain('WWW-Authenticate: Bearer realm="lender-gateway", error="invalid_token"\r\n')
      await line(({ cause }) => cause === 'the token is bound to another certificate')
    })

    test('nor behind a proxy that says that it was shown another one', async () => {
      const { port } = await bootGateway({
        listen: { trustedProxies: ['127.0.0.1'] },
        auth: { ...auth, mtls: { from: 'client-cert' } },
        clients,
      })
      const lines = (pem: string) => [`Authorization: Bearer ${token}`, `Client-Cert: ${clientCertField(pem)}`]

      expect(await requestWithFields(port, lines(made.client.cert))).toBe(200)
      expect(await requestWithFields(port, lines(made.bankA.cert))).toBe(401)
      expect(await requestWithFields(port, [`Authorization: Bearer ${token}`])).toBe(401)
    })
  })
})
