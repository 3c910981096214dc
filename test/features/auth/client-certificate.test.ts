import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { certificateFromHeader } from '../../../src/features/auth/client-certificate.ts'
import { type Certificates, makeCertificates } from '../../helpers/certificates.ts'
import { clientCertField } from '../../helpers/client-cert.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { needProgram } from '../../helpers/program.ts'

const openssl = await needProgram('openssl')

describe.skipIf(openssl.missing)('a certificate in Client-Cert', () => {
  let certificates: Certificates
  beforeAll(() => {
    certificates = makeCertificates(openssl.path ?? '')
  })

  const read = (pem: string, authority: string | null, trusted = true): unknown =>
    readField(clientCertField(pem), authority, trusted)
  const readField = (field: string, authority: string | null, trusted = true): unknown => {
    const find = certificateFromHeader(authority === null ? null : [new X509Certificate(authority)])
    const peer = { trusted, inFlight: 1, certificate: () => null }
    const presented = find(fakeExchange({ peer, fields: ['Client-Cert', field] }))
    return presented instanceof X509Certificate ? presented.fingerprint256 : (presented?.message ?? null)
  }
  const getFingerprint = (pem: string): string => new X509Certificate(pem).fingerprint256

  test('is read when a trusted proxy presents it', () => {
    expect(read(certificates.bankA.cert, certificates.authority.cert)).toBe(getFingerprint(certificates.bankA.cert))
    expect(read(certificates.bankA.cert, certificates.authority.cert, false)).toBe(null)
  })

  test('has to be issued by one of the authorities, itself an authority', () => {
    expect(read(certificates.forgedA.cert, certificates.authority.cert)).toBe(
      'its certificate is of an unknown authority',
    )
    expect(read(certificates.bankA.cert, certificates.client.cert)).toBe('its certificate is of an unknown authority')
    expect(read(certificates.forgedA.cert, null)).toBe(getFingerprint(certificates.forgedA.cert))
  })

  test('is its DER and nothing else', () => {
    const der = new X509Certificate(certificates.bankA.cert).raw
    const field = (bytes: Buffer): string => `:${bytes.toString('base64')}:`
    const others = [
      Buffer.concat([der, Buffer.from('more')]),
      Buffer.concat([der, new X509Certificate(certificates.client.cert).raw]),
      Buffer.from(`0\n${certificates.bankA.cert}`), // 0 is the tag of a SEQUENCE
      Buffer.concat([Buffer.from([0x30, 0x83, 0]), der.subarray(2)]), // a length that is longer than it need be
    ]

    expect(readField(field(der), null)).toBe(getFingerprint(certificates.bankA.cert))
    for (const bytes of others)
      expect(() => readField(field(bytes), null)).toThrow(expect.objectContaining({ kind: 'bad-request' }))
  })
})
