import { describe, expect, test } from 'vitest'
import { staticIssuerKeys } from '../../../../../src/features/auth/tokens/jwt/jwks-cache.ts'
import {
  isJwt,
  type JwtVerifierOptions,
  verifyToken,
} from '../../../../../src/features/auth/tokens/jwt/jwt-verifier.ts'
import { audience, claims, encodePart, issuer, jwks, signingKey, signToken } from '../../../../helpers/tokens.ts'

const elliptic = signingKey('ES256', 'elliptic')
const rsa = signingKey('PS256', 'rsa')
const edwards = signingKey('EdDSA', 'edwards')
const specified = signingKey('Ed25519', 'specified') // RFC 9864 §2.2
const old = signingKey('RS256', 'old')
const keys = staticIssuerKeys(jwks(elliptic, rsa, edwards, specified, old))

const settings: JwtVerifierOptions = {
  issuer,
  audience: ['https://elsewhere.example', audience],
  algorithms: ['PS256', 'ES256', 'EdDSA', 'Ed25519'],
  types: ['at+jwt'],
  clockTolerance: 5000,
}

const verify = (token: string, other: Partial<JwtVerifierOptions> = {}) =>
  verifyToken(token, { ...settings, ...other }, keys)

test.each([elliptic, rsa, edwards, specified])(
  'a token signed with $alg is accepted, and its claims returned',
  async (key) => {
    const payload = claims({ cnf: { jkt: 'print' } })

    const got = await verify(signToken(key, payload))

    expect(got.claims).toEqual(payload)
    expect(got.expiresAt).toBe((payload.exp as number) * 1000 + settings.clockTolerance)
  },
)

test('RS256 is for those who configure it', async () => {
  await expect(verify(signToken(old))).rejects.toThrow('its algorithm is not allowed')
  expect(await verify(signToken(old), { algorithms: ['RS256'] })).toMatchObject({ claims: { sub: 'robot' } })
})

test.each([
  [{ typ: 'JWT', alg: 'ES256' }, 'type is not allowed: typ is jwt and alg ES256'],
  [{ alg: 'ES256' }, 'type is not allowed: typ is missing and alg ES256'],
  [{ typ: 'application/DPoP+JWT', alg: 'ES256' }, 'type is not allowed: typ is dpop+jwt and alg ES256'],
  [{ typ: 'at+jwt', alg: 'HS256' }, 'algorithm is not allowed: typ is at+jwt and alg HS256'],
  [{ typ: 'at+jwt', alg: 'none' }, 'algorithm is not allowed: typ is at+jwt and alg none'],
  [{ typ: 'at+jwt' }, 'algorithm is not allowed: typ is at+jwt and alg missing'],
])('for a token of the wrong type or algorithm the log names both, and those accepted: %j', async (header, words) => {
  const token = `${encodePart(header)}.${encodePart(claims())}.c2ln`

  await expect(verify(token)).rejects.toThrow(`${words}, accepted are typ at+jwt and alg PS256, ES256, EdDSA, Ed25519`)
})

test('only registered types and algorithms of a token get into the log', async () => {
  const hostile = ['secret', 'HS256 ', 'a\n', '\u202eb', '<b>', '', 7, null, ['at+jwt'], { a: 'secret' }, 'constructor']

  for (const each of hostile) {
    const words =
      'its algorithm is not allowed: typ is not a registered name and alg not a registered name, accepted are'
    await expect(verify(`${encodePart({ typ: each, alg: each })}.${encodePart(claims())}.c2ln`)).rejects.toThrow(words)
  }
})

test('a type may be spelled as a media type, in any case', async () => {
  expect(await verify(signToken(elliptic, claims(), { typ: 'application/AT+JWT' }))).toBeTruthy()
  expect(await verify(signToken(elliptic, claims(), { typ: 'JWT' }), { types: ['jwt'] })).toBeTruthy()
})

test('a token that names no key belongs to the only one that fits, if there is only one', async () => {
  const unnamed = signToken(elliptic, claims(), { kid: undefined })
  const two = staticIssuerKeys(jwks(elliptic, signingKey('ES256', 'other')))

  expect(await verify(unnamed)).toBeTruthy()
  await expect(verifyToken(unnamed, settings, two)).rejects.toThrow('no key')
})

test('a kid of two keys is rejected, and a key that is listed twice counts once', async () => {
  const { use: _, ...bare } = elliptic.jwk
  const twice = staticIssuerKeys(JSON.stringify({ keys: [elliptic.jwk, bare] }))
  const twins = staticIssuerKeys(jwks(elliptic, signingKey('ES256', 'elliptic')))

  expect(await verifyToken(signToken(elliptic), settings, twice)).toBeTruthy()
  await expect(verifyToken(signToken(elliptic), settings, twins)).rejects.toThrow('several keys')
})

test('a list of audiences is enough when one of them is the gateway', async () => {
  expect(await verify(signToken(elliptic, claims({ aud: ['x', audience] })))).toBeTruthy()
})

test.each([
  ['exp', -3, null],
  ['exp', -6, 'it has expired'],
  ['nbf', 3, null],
  ['nbf', 10, 'not valid yet'],
  ['iat', 10, 'in the future'],
])('clocks may differ by the tolerance and no more: %s %i s from now', async (name, more, cause) => {
  const verified = verify(signToken(elliptic, claims({ [name]: Math.floor(Date.now() / 1000) + more })))

  if (cause === null) expect(await verified).toBeTruthy()
  else await expect(verified).rejects.toThrow(cause)
})

// The attacks that have a name are in `security/forged-tokens.test.ts`.
describe('a flawed token is rejected, and the reason quotes nothing of it', () => {
  const [head = '', body = '', signature = ''] = signToken(elliptic).split('.')
  const flipped = signature.startsWith('A') ? `B${signature.slice(1)}` : `A${signature.slice(1)}`
  test.each<readonly [string, string]>([
    ['a time of issue that is null', signToken(elliptic, claims({ iat: null }))],
    ['a key of another kind', signToken(elliptic, claims(), { kid: rsa.kid })],
    ['an algorithm of another kind of key', signToken(elliptic, claims(), { alg: 'PS256' })],
    ['an algorithm in another case', signToken(elliptic, claims(), { alg: 'es256' })],
    ['a list of algorithms', signToken(elliptic, claims(), { alg: ['ES256'] })],
    ['an unencoded payload', signToken(elliptic, claims(), { b64: false })],
    ['a changed payload', `${head}.${encodePart(claims({ client_id: 'bank-b' }))}.${signature}`],
    ['a changed signature', `${head}.${body}.${flipped}`],
    ['no signature', `${head}.${body}.`],
    ['a signature of another form', `${head}.${body}.${Buffer.from('short').toString('base64url')}`],
    ['a payload that is a list', signToken(elliptic, [claims()])],
    ['a payload that is null', signToken(elliptic, null)],
    ['a header that is no JSON', `eyJ.${body}.${signature}`],
    ['a header that is a list', `${encodePart(['ES256'])}.${body}.${signature}`],
    ['padding', `${head}=.${body}.${signature}`],
    ['five parts, as encrypted ones have', `${head}.${body}.${signature}.${body}.${signature}`],
    ['a token that is too long', signToken(elliptic, claims({ much: 'x'.repeat(8192) }))],
    ['an opaque token', 'c2VjcmV0'],
    ['nothing', ''],
  ])('%s', async (_, token) => {
    const error: unknown = await verify(token).catch((thrown) => thrown)

    expect(error).toMatchObject({
      name: 'CredentialRejected',
      message: expect.stringMatching(/^[a-z A-Z0-9,]+(: [a-z A-Z0-9,+]+)?$/),
    })
    expect((error as Error).cause).toBeUndefined()
  })
})

test('the form of a token decides whether it is introspected', () => {
  expect(isJwt(signToken(elliptic))).toBe(true)
  for (const opaque of ['abc', 'a.b', 'a.b.c.d', 'a.b.', `a.b.${'c'.repeat(8192)}`, 'a.b.c~'])
    expect(isJwt(opaque)).toBe(false)
})
