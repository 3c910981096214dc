import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../../../helpers/certificates.ts'
import { fetchAdmin } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway, certificateEntry } from '../../../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

describe.skipIf(openssl.missing)('the expiry of certificates', () => {
  let certificates: Certificates
  beforeAll(() => {
    certificates = makeCertificates(openssl.path ?? '')
  })

  test('stands in /status', async () => {
    const { admin, edit, reload } = await bootTlsGateway(certificates.right)
    edit({ listen: { tls: { certificates: [certificates.right, certificates.wild].map(certificateEntry) } } })
    await reload()

    const { body } = await fetchAdmin(`${admin}/status`)

    expect(body.certificates).toEqual([
      {
        key: 'listen.tls.certificates[0]',
        names: ['localhost'],
        notAfter: '2120-01-01T00:00:00.000Z',
        daysLeft: expect.any(Number),
      },
      expect.objectContaining({ key: 'listen.tls.certificates[1]', names: ['*.wild.test'] }),
    ])
    expect(body.warnings).toEqual([])
  })

  test('an expired certificate is shown all the same, and warned of in capitals', async () => {
    const { admin, port, line } = await bootTlsGateway(certificates.expired)

    const { body } = await fetchAdmin(`${admin}/status`)

    expect((await requestOverTls(port)).status).toBe(200)
    expect(body.certificates).toEqual([expect.objectContaining({ notAfter: '2021-01-01T00:00:00.000Z' })])
    expect(await line(({ msg }) => msg === 'configuration warning')).toMatchObject({
      path: 'listen.tls.certificates[0].certificate',
      message: expect.stringContaining('HAS EXPIRED'),
      found: 'one until 2021-01-01T00:00:00.000Z',
    })
  })
})
