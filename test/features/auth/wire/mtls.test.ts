/** Clients that authenticate by a certificate, on connections of every kind. */
import { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { needCertificates } from '../../../helpers/certificates.ts'
import { dialHttp2, readStreamResponse } from '../../../helpers/http2.ts'
import { proxyV2, tcpBalancer } from '../../../helpers/proxy-protocol.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const { made, missing } = await needCertificates()

describe.skipIf(missing)('with a certificate', () => {
  const boot = async (clientCertificates = 'required', listen: object = {}) => {
    const upstream = await httpUpstream((request, response) =>
      response.end(`for ${receivedValues(request, 'x-client-id')}`),
    )
    const { fingerprint256 } = new X509Certificate(made.client.cert)
    const client = (id: string, certificate: string) => ({ id, operations: 'all', certificates: [certificate] })
    return bootTlsGateway(
      made.right,
      { clientCertificates, clientCa: made.authority.cert },
      {
        upstream: upstream.url,
        listen: { http2: true, ...listen },
        auth: { methods: ['mtls'], identityField: 'X-Client-Id' },
        clients: [client('bank-a', 'dns:bank-a.example'), client('bank-b', `sha256:${fingerprint256}`)],
      },
    )
  }
  const forBankA = expect.stringMatching(/for bank-a$/)

  test('a client is known by a name in it, or by its fingerprint, and no other gets in', async () => {
    const { port, line } = await boot('optional')

    const [a, b] = [await requestOverTls(port, made.bankA), await requestOverTls(port, made.client)]
    const [nobodys, none] = [await requestOverTls(port, made.brief), await requestOverTls(port)]

    expect([a.text, b.text]).toEqual([forBankA, expect.stringMatching(/for bank-b$/)])
    expect(await line(({ clientId }) => clientId === 'bank-a')).toMatchObject({ auth: 'mtls', status: 200 })
    expect([nobodys.status, none.status]).toEqual([403, 401])
    expect(none.text).toContain('WWW-Authenticate: ClientCertificate realm="lender-gateway"\r\n')
    await line(({ cause }) => cause === 'the credential is valid, but belongs to no client')
  })

  test('a client whose address a load balancer tells is known by its own certificate, for each request', async () => {
    const { port, lines } = await boot('required', { proxyProtocol: { from: ['127.0.0.1'] } })
    const balancer = () => tcpBalancer(port, proxyV2('203.0.113.5'))

    const overHttp1 = await requestOverTls(await balancer(), made.bankA)
    const session = dialHttp2(await balancer(), made.bankA)
    const asked = [1, 2].map(() => readStreamResponse(session.request({ ':path': '/market/insights' })))
    const overHttp2 = await Promise.all(asked)
    const forged = await requestOverTls(await balancer(), made.forgedA)

    expect([overHttp1.text, ...overHttp2.map(({ body }) => `${body}`)]).toEqual(new Array(3).fill(forBankA))
    expect(forged.status).toBe(0)
    expect(lines.filter(({ msg }) => msg === 'exchange')).toMatchObject(
      new Array(3).fill({ client: '203.0.113.5', clientId: 'bank-a', auth: 'mtls', status: 200 }),
    )
  })

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'a client that resumes a session of %s is the client that began it',
    async (version) => {
      const { port } = await boot()
      const only = { minVersion: version, maxVersion: version }
      const first = await requestOverTls(port, { ...only, ...made.bankA })

      // The client presents nothing any more: its identity stands in the ticket.
      const again = await requestOverTls(port, { ...only, session: first.session })

      expect(again.resumed).toBe(true)
      expect([first.text, again.text]).toEqual([forBankA, forBankA])
    },
  )
})
