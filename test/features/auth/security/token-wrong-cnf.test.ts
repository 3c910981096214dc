import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { certificateThumbprint } from '../../../../src/features/auth/client-certificate.ts'
import { type Certificates, makeCertificates } from '../../../helpers/certificates.ts'
import { clientCertField } from '../../../helpers/client-cert.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import { boundToken, requestWithFields, tokenBindingSettings } from '../../../helpers/token-binding.ts'
import { signingKey } from '../../../helpers/tokens.ts'

const openssl = await needProgram('openssl')
const key = signingKey('ES256', 'issuer')

// The attack: a client of the same gateway, with a good certificate of its own, has got hold of a token that was issued
// to another (RFC 8705 §3).
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

  test('nor with a confirmation method that is unknown here', async () => {
    const { port } = await bootTlsGateway(
      made.right,
      { clientCertificates: 'required', clientCa: made.authority.cert },
      { auth, clients },
    )
    const thumbprint = certificateThumbprint(new X509Certificate(made.client.cert))

    for (const cnf of [{ 'x5t#S512': thumbprint }, { 'x5t#S256': thumbprint, kid: 'another' }, {}])
      expect((await requestOverTls(port, made.client, [`Authorization: Bearer ${boundToken(key, cnf)}`])).status).toBe(
        401,
      )
  })
})
