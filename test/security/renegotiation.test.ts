import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../helpers/certificates.ts'
import { needProgram } from '../helpers/program.ts'
import { tlsHandshake } from '../helpers/tls-client.ts'
import { bootTlsGateway } from '../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

// The attack (CVE-2011-1473): a client that asks for handshake after handshake on one connection has the gateway do the
// expensive half of each.
describe.skipIf(openssl.missing)('renegotiation', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  test('is rejected the first time', async () => {
    const { port } = await bootTlsGateway(made.right)
    const { socket, failure } = await tlsHandshake(port, { maxVersion: 'TLSv1.2' })

    const rejected = await new Promise((resolve) => {
      socket.on('error', resolve)
      socket.renegotiate({ rejectUnauthorized: false }, resolve)
    })
    socket.destroy()

    expect(failure).toBeNull()
    expect(String(rejected)).toMatch(/no renegotiation/i)
  })
})
