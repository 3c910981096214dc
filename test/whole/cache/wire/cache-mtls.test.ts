import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../../../helpers/certificates.ts'
import { needProgram } from '../../../helpers/program.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const openssl = await needProgram('openssl')

describe.skipIf(openssl.missing)('a client with a certificate', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  const boot = async (auth: 'mtls' | 'none') => {
    const upstream = await httpUpstream((request, response) => {
      response.setHeader('Cache-Control', 'max-age=60')
      response.end(`for ${receivedValues(request, 'x-client-id')}`)
    })
    const { fingerprint256 } = new X509Certificate(made.client.cert)
    const clients = [
      { id: 'bank-a', operations: 'all', certificates: ['dns:bank-a.example'] },
      { id: 'bank-b', operations: 'all', certificates: [`sha256:${fingerprint256}`] },
    ]
    const { port } = await bootTlsGateway(
      made.right,
      { clientCertificates: 'optional', clientCa: made.authority.cert },
      {
        upstream: upstream.url,
        auth: { methods: ['mtls'], identityField: 'X-Client-Id' },
        clients,
        operations: { 'market.insights': { cache: true, ...(auth === 'none' ? { auth } : {}) } },
      },
    )
    return { port, upstream }
  }

  test('that identifies itself gets what was stored for it, and no other client does', async () => {
    const { port, upstream } = await boot('mtls')

    const first = await requestOverTls(port, made.bankA)
    const again = await requestOverTls(port, made.bankA)
    const other = await requestOverTls(port, made.client)

    expect(first.text).toMatch(/for bank-a$/)
    expect(again.text).toMatch(/;hit;[\s\S]*for bank-a$/)
    expect(other.text).toMatch(/for bank-b$/)
    expect(upstream.requests).toHaveLength(2)
  })

  test('bypasses the cache where no credential is asked for', async () => {
    const { port } = await boot('none')

    const responses = [await requestOverTls(port, made.bankA), await requestOverTls(port, made.bankA)]

    expect(responses.map(({ text }) => /;fwd=bypass/.test(text))).toEqual([true, true])
  })
})
