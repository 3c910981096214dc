import type { ConnectionOptions } from 'node:tls'
import { beforeAll, describe, expect, test } from 'vitest'
import { readNegotiatedGroup } from '../../../../src/core/downstream/tls/tls-acceptor.ts'
import { type Certificates, makeCertificates } from '../../../helpers/certificates.ts'
import { needProgram } from '../../../helpers/program.ts'
import { requestOverTls, tlsHandshake } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

describe.skipIf(openssl.missing)('handshakes of clients', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  const countsOf = async (admin: string): Promise<Readonly<Record<string, number>>> => {
    const text = await (await fetch(`${admin}/metrics`)).text()
    const series = text.matchAll(/^lender_gateway_tls_handshakes_total\{version="(.+?)",group="(.+?)"\} (\d+)$/gm)
    return Object.fromEntries([...series].map(([, version, group, count]) => [`${version} ${group}`, Number(count)]))
  }

  // draft-ietf-tls-ecdhe-mlkem: what an attacker records today stays closed to the computers of later.
  test('exchange keys in the hybrid group X25519MLKEM768 by default', async () => {
    const { port } = await bootTlsGateway(made.right)

    const { socket } = await tlsHandshake(port)
    const group = socket.getEphemeralKeyInfo()
    socket.destroy()

    expect(group).toMatchObject({ name: 'X25519MLKEM768' })
  })

  test('are counted by version and group, as the client sees both; resumed ones too', async () => {
    const { port, admin } = await bootTlsGateway(made.right, {
      clientCertificates: 'optional',
      clientCa: made.authority.cert,
    })
    const first = await requestOverTls(port, { ecdhCurve: 'P-256' })
    const options: readonly ConnectionOptions[] = [
      {},
      { ecdhCurve: 'X25519' },
      { ecdhCurve: 'P-384', ...made.client },
      // RFC 8422 §5.1.1: the curve of the certificate has to be there too.
      { maxVersion: 'TLSv1.2', ecdhCurve: 'X25519:P-256' },
    ]
    for (const each of options) expect((await requestOverTls(port, each)).status).toBe(200)
    const again = await requestOverTls(port, { ecdhCurve: 'P-521', session: first.session })

    const counts = await countsOf(admin)

    expect(again.resumed).toBe(true)
    expect(counts).toEqual({
      'TLSv1.3 X25519MLKEM768': 1,
      'TLSv1.3 x25519': 1,
      'TLSv1.3 secp256r1': 1,
      'TLSv1.3 x448': 0,
      'TLSv1.3 secp384r1': 1,
      'TLSv1.3 secp521r1': 1,
      'TLSv1.3 other': 0,
      'TLSv1.2 X25519MLKEM768': 0,
      'TLSv1.2 x25519': 1,
      'TLSv1.2 secp256r1': 0,
      'TLSv1.2 x448': 0,
      'TLSv1.2 secp384r1': 0,
      'TLSv1.2 secp521r1': 0,
      'TLSv1.2 other': 0,
    })
  })

  test('that fail are not', async () => {
    const { port, admin } = await bootTlsGateway(made.right)

    const { failure } = await tlsHandshake(port, { ciphers: 'AES128-GCM-SHA256', maxVersion: 'TLSv1.2' })
    const counts = await countsOf(admin)

    expect(failure).not.toBeNull()
    expect(Object.keys(counts)).toHaveLength(14)
    expect(Object.values(counts).filter((count) => count > 0)).toEqual([])
  })
})

// X.690: SEQUENCE { INTEGER 1, [19] { INTEGER group } }, and what may stand around it.
test.each([
  ['in one byte', '300a020101b305' + '020300001d', 29],
  ['in two bytes', '3009020101b304' + '020211ec', 4588],
  ['behind a member of 200 bytes', `3081d204${'81c8'}${'00'.repeat(200)}b303020117`, 23],
  ['that is not there', '3003020101', 0],
  ['that is cut short', '3009020101b304020211', 0],
  ['in a member that says more than there is', '300904ff', 0],
  ['of no bytes', '3005b302' + '0200', 0],
  ['in nothing', '', 0],
])('a group %s', (_, der, group) => {
  expect(readNegotiatedGroup(Buffer.from(der, 'hex'))).toBe(group)
})
