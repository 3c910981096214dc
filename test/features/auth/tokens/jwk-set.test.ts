import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseJwkSet } from '../../../../src/features/auth/tokens/jwk-set.ts'
import { runWithFailingLoad } from '../../../helpers/failing-load.ts'
import { jwks, signingKey } from '../../../helpers/tokens.ts'

const elliptic = signingKey('ES256', 'a')
const set = (...keys: readonly unknown[]): string => JSON.stringify({ keys })

test('a key is found by its kid and by what it can sign', () => {
  const keys = parseJwkSet(jwks(elliptic, signingKey('EdDSA', 'b')), null)

  expect(keys.size).toBe(2)
  expect(keys.find('ES256', 'a')).toHaveLength(1)
  expect(keys.find('EdDSA', 'a')).toHaveLength(0)
  expect(keys.find('EdDSA', null)).toHaveLength(1)
  expect(keys.find('ES384', 'a')).toHaveLength(0)
})

test('a key that is for one algorithm is for no other of its kind', () => {
  const keys = parseJwkSet(jwks(signingKey('PS256', 'a')), null)

  expect(keys.find('PS256', 'a')).toHaveLength(1)
  expect(keys.find('RS256', 'a')).toHaveLength(0)
})

test('a key that cannot verify a signature is not usable', () => {
  const { jwk, privateKey } = elliptic
  const { publicKey: short } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const { publicKey: coin } = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
  const { publicKey: agreement } = generateKeyPairSync('x25519')
  const keys = parseJwkSet(
    set(
      { kty: 'oct', k: 'c2VjcmV0', kid: 'symmetric' },
      { ...privateKey.export({ format: 'jwk' }), kid: 'private' },
      { kty: 'AKP', kid: 'of the future' },
      ...[{ use: 'enc' }, { key_ops: ['encrypt'] }, { kid: 7 }, { x: 'AA' }].map((more) => ({ ...jwk, ...more })),
      ...[{ alg: 'PS256' }, { alg: 'HS256' }, { y: jwk.x }].map((more) => ({ ...jwk, ...more })), // not on the curve
      ...[short, coin, agreement].map((key) => key.export({ format: 'jwk' })),
      ...['text', null],
    ),
    null,
  )

  expect(keys.size).toBe(0)
})

test('a key that stays is the same one in the next set, and one that is replaced under its name is not', () => {
  const before = parseJwkSet(jwks(elliptic), null)
  const [key] = before.find('ES256', 'a')
  if (key === undefined) throw new Error('no key')

  const next = parseJwkSet(jwks(signingKey('ES256', 'b'), elliptic), before)
  const replaced = parseJwkSet(jwks(signingKey('ES256', 'a')), next)

  expect(next.has(key)).toBe(true)
  expect(replaced.has(key)).toBe(false)
})

test('what is no JWK Set is rejected, and not quoted', () => {
  for (const text of ['secret', '[]', '{}', 'null', '{"keys":{"secret":1}}', set(...Array(101).fill(elliptic.jwk))])
    expect(() => parseJwkSet(text, null)).toThrow(/^it (is not|holds more)/)
})

const file = new URL('../../../../src/features/auth/tokens/jwk-set.ts', import.meta.url).href

test('a library that could not be read is read again for the next token', async () => {
  const outcomes = await runWithFailingLoad(
    'jose',
    5, // of its files
    `import { loadJose } from ${JSON.stringify(file)}
    const outcome = () => loadJose().then(({ jwtVerify }) => typeof jwtVerify, ({ message }) => message)
    console.log(JSON.stringify([await outcome(), await outcome()]))`,
  )

  expect(outcomes).toEqual(['EMFILE: too many open files', 'function'])
})
