import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
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
    const required = (list: string) => ({
      ...{ clientCertificates: 'required', clientCa: made.authority.cert, clientCrl: [list] },
    })

    test('is good for as long as clients are judged as they were, and not past a list that names the client', async () => {
      const { port, write, edit, reload } = await bootTlsGateway(made.right, required(made.noneRevoked))
      const first = await requestOverTls(port, { ...only, ...made.client })
      const resume = () => requestOverTls(port, { ...only, ...made.client, session: first.session })
      write(made.renewed)
      await reload()
      const renewed = await resume()
      edit({ listen: { tls: { ...required(made.clientRevoked), certificates: [certificateEntry(made.right)] } } })
      const { result } = await reload()

      const revoked = await resume()

      expect([first.status, renewed.status, renewed.resumed]).toEqual([200, 200, true])
      expect([result, revoked.status]).toEqual(['applied', 0])
    })

    test('does not come in where a certificate is required meanwhile', async () => {
      const { port, edit, reload } = await bootTlsGateway(made.right)
      const first = await requestOverTls(port, only)
      edit({ listen: { tls: { ...required(made.noneRevoked), certificates: [certificateEntry(made.right)] } } })
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

    // The attack: a client resumes its session every few minutes. Over TLS 1.3 it gets a new ticket each time, so that
    // five minutes limit nothing, and the certificate that has expired long since is never checked again.
    test('lasts no longer than the certificate that it began with', async () => {
      const { port, line } = await bootTlsGateway(made.right, required(made.noneRevoked))
      const first = await requestOverTls(port, { ...only, ...made.brief })
      const second = await requestOverTls(port, { ...only, ...made.brief, session: first.session })

      const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 2 * 3_600_000)
      onTestFinished(() => clock.mockRestore())
      const late = await requestOverTls(port, { ...only, ...made.brief, session: second.session })

      expect([first.status, second.status, second.resumed, late.status]).toEqual([200, 200, true, 0])
      await line(({ msg, reason }) => msg === 'handshake failed' && reason === 'CERT_HAS_EXPIRED')
    })
  },
)
