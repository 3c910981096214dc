import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Certificates, makeCertificates } from '../helpers/certificates.ts'
import { needProgram } from '../helpers/program.ts'
import { requestOverTls } from '../helpers/tls-client.ts'
import { bootTlsGateway } from '../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

// The attack: a client comes in, and resumes its session every few minutes. Over TLS 1.3 it gets a new ticket each
// time, so that five minutes limit nothing, and the certificate that has expired long since is never checked again.
describe.skipIf(openssl.missing)('a session', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })
  afterEach(() => void vi.restoreAllMocks())

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'of %s lasts no longer than the certificate that it began with',
    async (version) => {
      const { port, line } = await bootTlsGateway(made.right, {
        clientCertificates: 'required',
        clientCa: made.authority.cert,
      })
      const only = { minVersion: version, maxVersion: version, ...made.brief }
      const first = await requestOverTls(port, only)
      const second = await requestOverTls(port, { ...only, session: first.session })

      vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 2 * 3_600_000)
      const late = await requestOverTls(port, { ...only, session: second.session })

      expect([first.status, second.status, second.resumed, late.status]).toEqual([200, 200, true, 0])
      await line(({ msg, reason }) => msg === 'handshake failed' && reason === 'CERT_HAS_EXPIRED')
    },
  )
})
