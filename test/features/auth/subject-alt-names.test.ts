import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalAltName, subjectAltNames } from '../../../src/features/auth/client-certificate.ts'

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

describe('whatever a certificate says', () => {
  const kind = fc.constantFrom('DNS', 'URI', 'email', 'IP Address', 'DirName', 'Registered ID')
  const value = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.string({ maxLength: 20 }),
    fc
      .array(fc.constantFrom('DNS:', 'URI:', ', ', ',', '"', '\\', "'", '\0', 'bank-a.example', '\\u002c'), {
        maxLength: 6,
      })
      .map((parts) => parts.join('')),
  )

  test('only a name that stands there as a whole is one, exactly', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(kind, value), { maxLength: 5 }), (listed) => {
        const meant = listed
          .filter(([of]) => of === 'DNS' || of === 'URI' || of === 'email')
          .map(([of, name]) => canonicalAltName(of.toLowerCase(), name))

        for (const name of names(written(listed))) expect(meant).toContain(name)
      }),
    )
  })

  test('a usual name is found among all the others', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(kind, value), { maxLength: 4 }), fc.nat(4), (listed, at) => {
        const all = listed.toSpliced(at, 0, ['DNS', 'Bank-A.example'])

        expect(names(written(all))).toContain('dns:bank-a.example')
      }),
    )
  })
})
