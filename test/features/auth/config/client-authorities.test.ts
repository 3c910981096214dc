import { afterEach, describe, expect, test, vi } from 'vitest'
import { clientAuthorities } from '../../../../src/core/config/certificates.ts'
import { parse, sandbox, validConfig } from '../../../core/config/helper.ts'
import { needCertificates } from '../../../helpers/certificates.ts'

const { made, missing } = await needCertificates()

describe.skipIf(missing)('an authority of clients', () => {
  afterEach(() => void vi.restoreAllMocks())

  const text = (ca: string): string =>
    `${sandbox}\nlisten: { trustedProxies: [192.0.2.1] }\nauth: { methods: [mtls], mtls: { from: client-cert, ca: ${JSON.stringify(ca)} } }\nclients: [{ id: a, operations: all }]`

  test('that expires gets a warning as certificates do', () => {
    const [{ notAfter } = { notAfter: 0 }] = clientAuthorities(validConfig(text(made.authority.cert)))
    const warned = (days: number) => {
      vi.spyOn(Date, 'now').mockReturnValue(notAfter - days * 24 * 3_600_000)
      const result = parse(text(made.authority.cert))
      return result.ok && result.warnings.map(({ path, message }) => `${path}: ${message}`)
    }

    expect(warned(15)).toEqual([])
    expect(warned(13)).toEqual(['auth.mtls.ca: an authority of client certificates expires within 14 days'])
    expect(warned(-1)).toEqual([
      expect.stringContaining('auth.mtls.ca: AN AUTHORITY OF CLIENT CERTIFICATES HAS EXPIRED'),
    ])
  })

  test('is named by its subject: of several the one that expires first', () => {
    const { auth, listen, ...rest } = validConfig(text(made.authority.cert + made.expired.cert))
    const tls = {
      certificates: [],
      minVersion: 'TLSv1.2',
      clientCertificates: 'required',
      clientCa: made.authority.cert,
      clientCrl: [],
    } as const

    expect(clientAuthorities({ ...rest, auth, listen: { ...listen, tls } })).toEqual([
      { path: ['listen', 'tls', 'clientCa'], names: [expect.stringMatching(/^CN=/)], notAfter: expect.any(Number) },
      { path: ['auth', 'mtls', 'ca'], names: [expect.stringMatching(/^CN=/)], notAfter: Date.UTC(2021, 0, 1) },
    ])
  })
})
