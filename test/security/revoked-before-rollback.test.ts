import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../helpers/certificates.ts'
import { fetchAdmin } from '../helpers/live-gateway.ts'
import { needProgram } from '../helpers/program.ts'
import { requestOverTls } from '../helpers/tls-client.ts'
import { bootTlsGateway, certificateEntry } from '../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

// The attack: a client is revoked, and the edit has a mistake elsewhere. An operator who rolls back in a hurry would
// let the client in again.
describe.skipIf(openssl.missing)('a rollback', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  test('does not restore a client that was revoked, nor a certificate that was renewed', async () => {
    const client = { clientCertificates: 'required', clientCa: made.authority.cert, clientCrl: [made.noneRevoked] }
    const { port, admin, edit, reload } = await bootTlsGateway(made.right, client)
    const before = await requestOverTls(port, made.client)
    const tls = { ...client, clientCrl: [made.clientRevoked], certificates: [certificateEntry(made.renewed)] }
    edit({ listen: { tls, maxHeaders: '1KiB' } })
    await reload()

    const { body } = await fetchAdmin(`${admin}/rollback`, 'POST')
    const after = await requestOverTls(port, made.client)

    expect(before.status).toBe(200)
    expect(body.changes).toEqual([expect.objectContaining({ path: 'listen.maxHeaders' })])
    expect(after.status).toBe(0)
  })
})
