import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../../helpers/certificates.ts'
import { needProgram } from '../../helpers/program.ts'
import { requestOverTls } from '../../helpers/tls-client.ts'
import { bootTlsGateway, certificateEntry } from '../../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

// The attack: a client resumes a session of yesterday. Its certificate is not checked then: what was found out about it
// stands in the ticket, and TLS 1.3 takes the session itself for a proof of the client's identity. So a client that has
// been revoked since, or that never had to show anything, would come in.
describe.skipIf(openssl.missing).each(['TLSv1.2', 'TLSv1.3'] as const)(
  'a session that is resumed over %s',
  (version) => {
    let made: Certificates
    beforeAll(() => {
      made = makeCertificates(openssl.path ?? '')
    })

    const only = { minVersion: version, maxVersion: version }

    test('is good for as long as clients are judged as they were', async () => {
      const client = { clientCertificates: 'required', clientCa: made.authority.cert, clientCrl: [made.noneRevoked] }
      const { port, write, reload } = await bootTlsGateway(made.right, client)
      const first = await requestOverTls(port, { ...only, ...made.client })
      write(made.renewed)
      await reload()

      const again = await requestOverTls(port, { ...only, ...made.client, session: first.session })

      expect([first.status, again.status, again.resumed]).toEqual([200, 200, true])
    })

    test('does not come in past a list that names the client meanwhile', async () => {
      const client = { clientCertificates: 'required', clientCa: made.authority.cert, clientCrl: [made.noneRevoked] }
      const { port, edit, reload } = await bootTlsGateway(made.right, client)
      const first = await requestOverTls(port, { ...only, ...made.client })
      const tls = { ...client, clientCrl: [made.clientRevoked], certificates: [certificateEntry(made.right)] }
      edit({ listen: { tls } })
      const { result } = await reload()

      const again = await requestOverTls(port, { ...only, ...made.client, session: first.session })

      expect([first.status, result, again.status]).toEqual([200, 'applied', 0])
    })

    test('does not come in where a certificate is required meanwhile', async () => {
      const { port, edit, reload } = await bootTlsGateway(made.right)
      const first = await requestOverTls(port, only)
      const tls = {
        clientCertificates: 'required',
        clientCa: made.authority.cert,
        certificates: [certificateEntry(made.right)],
      }
      edit({ listen: { tls } })
      await reload()

      const again = await requestOverTls(port, { ...only, session: first.session })

      expect([first.status, again.status]).toEqual([200, 0])
    })

    test('that began with a certificate of no client stays out, where a connection without one gets in', async () => {
      const client = { clientCertificates: 'optional', clientCa: made.authority.cert }
      const { port } = await bootTlsGateway(made.right, client)
      const first = await requestOverTls(port, { ...only, ...made.selfSigned })

      const again = await requestOverTls(port, { ...only, ...made.selfSigned, session: first.session })

      expect([first.status, again.status]).toEqual([0, 0])
    })
  },
)
