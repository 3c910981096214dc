import { X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  canonicalAltName,
  certificateFromHeader,
  subjectAltNames,
} from '../../../src/features/auth/client-certificate.ts'
import { anyCharacter } from '../../helpers/any-character.ts'
import { needCertificates } from '../../helpers/certificates.ts'
import { clientCertField } from '../../helpers/client-cert.ts'
import { fakeExchange } from '../../helpers/exchange.ts'

const { made, missing } = await needCertificates()

describe.skipIf(missing)('a certificate in Client-Cert', () => {
  const readField = (field: string, authority: string | null = null, trusted = true): unknown => {
    const find = certificateFromHeader(authority === null ? null : [new X509Certificate(authority)])
    const peer = { trusted, inFlight: 1, certificate: () => null }
    const presented = find(fakeExchange({ peer, fields: ['Client-Cert', field] }))
    return presented instanceof X509Certificate ? presented.fingerprint256 : (presented?.message ?? null)
  }
  const print = (pem: string): string => new X509Certificate(pem).fingerprint256

  test('is read when a trusted proxy presents it, and one of the authorities, itself an authority, has issued it', () => {
    const { authority, bankA, client, forgedA } = made
    const read = (pem: string, ca: string | null, trusted = true) => readField(clientCertField(pem), ca, trusted)
    const unknown = 'its certificate is of an unknown authority'

    expect(read(bankA.cert, authority.cert)).toBe(print(bankA.cert))
    expect(read(bankA.cert, authority.cert, false)).toBeNull()
    expect([read(forgedA.cert, authority.cert), read(bankA.cert, client.cert)]).toEqual([unknown, unknown])
    expect(read(forgedA.cert, null)).toBe(print(forgedA.cert))
  })

  test('is its DER and nothing else', () => {
    const der = new X509Certificate(made.bankA.cert).raw
    const field = (bytes: Buffer): string => `:${bytes.toString('base64')}:`
    const texts = ['"certificate"', ':AQID:', '', `${field(der)}, ${field(der)}`]
    const others = [
      Buffer.concat([der, Buffer.from('more')]),
      Buffer.concat([der, new X509Certificate(made.client.cert).raw]),
      Buffer.from(`0\n${made.bankA.cert}`), // 0 is the tag of a SEQUENCE
      Buffer.concat([Buffer.from([0x30, 0x83, 0]), der.subarray(2)]), // a length that is longer than it need be
    ]

    expect(readField(field(der))).toBe(print(made.bankA.cert))
    for (const text of [...texts, ...others.map(field)])
      expect(() => readField(text)).toThrow(expect.objectContaining({ kind: 'bad-request' }))
  })
})

describe('the names in a certificate', () => {
  /** Writes names as Node does: unusual ones in quotes, with every comma in them escaped. */
  const written = (names: readonly (readonly [string, string])[]): string =>
    names
      .map(([kind, value]) => {
        const isPlain = /^[^",'\\\p{C}]*$/u.test(value) && /^[\x20-\x7e]*$/.test(value)
        return `${kind}:${isPlain ? value : JSON.stringify(value).replaceAll(',', '\\u002c')}`
      })
      .join(', ')

  const names = (subjectAltName: string | undefined): readonly string[] => subjectAltNames({ subjectAltName })

  // The text that OpenSSL and Node make of a certificate with every kind of name, two of them made to look like more.
  const real =
    'DNS:bank-a.example, DNS:*.Bank, URI:"spiffe://x/y?a=b\\u002cc", email:ops@bank-a.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, ' +
    'DirName:"CN=x\\\\\\u002c DNS:evil", Registered ID:1.2.3.4, othername:UPN:foo@bar, othername:<unsupported>, DNS:"a\\"\\u002c DNS:evil"'

  test('the names of a certificate are those of the kinds that clients are known by', () => {
    expect(names(real)).toEqual([
      'dns:bank-a.example',
      'dns:*.bank',
      'uri:spiffe://x/y?a=b,c',
      'email:ops@bank-a.example',
    ])
    expect(names(undefined)).toEqual([])
  })

  test.each(['DNS:a, DNS:"b', 'DNS:a, "b"', 'DNS:a,DNS:b', 'nothing', 'DNS:"a" , DNS:b', 'DNS:"\\x"'])(
    'of a list that cannot be read to its end nothing counts: %s',
    (text) => {
      expect(names(text)).toEqual([])
    },
  )

  test('whatever a certificate says, a usual name is found, and only one that stands there as a whole, exactly', () => {
    const kind = fc.constantFrom('DNS', 'URI', 'email', 'IP Address', 'DirName', 'Registered ID')
    const odd = fc.constantFrom('DNS:', 'URI:', ', ', ',', '"', '\\', "'", '\0', 'bank-a.example', '\\u002c')
    const value = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 20 }),
      fc.array(odd, { maxLength: 6 }).map((parts) => parts.join('')),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(kind, value), { maxLength: 4 }), fc.nat(4), (listed, at) => {
        const all = listed.toSpliced(at, 0, ['DNS', 'Bank-A.example'])
        const found = names(written(all))

        expect(found).toContain('dns:bank-a.example')
        const meant = all
          .filter(([of]) => ['DNS', 'URI', 'email'].includes(of))
          .map(([of, name]) => canonicalAltName(of.toLowerCase(), name))
        for (const name of found) expect(meant).toContain(name)
      }),
      { numRuns: 50 },
    )
  })
})
