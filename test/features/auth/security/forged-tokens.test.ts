/**
 * Attacks by a JWT that the issuer has not made, or has made for another purpose. Clients' errors and log lines:
 * `tokens-on-the-wire.test.ts`.
 */
import { createHmac, hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { staticIssuerKeys } from '../../../../src/features/auth/tokens/jwt/jwks-cache.ts'
import { type JwtVerifierOptions, verifyToken } from '../../../../src/features/auth/tokens/jwt/jwt-verifier.ts'
import { findProblems, sandbox } from '../../../core/config/helper.ts'
import { audience, claims, encodePart, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'

const key = signingKey('ES256', 'elliptic')
const rsa = signingKey('PS256', 'rsa')
const own = signingKey('ES256', key.kid)
const settings: JwtVerifierOptions = {
  ...{ issuer, audience: [audience], types: ['at+jwt'], clockTolerance: 5000 },
  algorithms: ['PS256', 'ES256', 'EdDSA', 'Ed25519'],
}
const now = Math.floor(Date.now() / 1000)

const saying = (other: Readonly<Record<string, unknown>>): string => signToken(key, claims(other))
const withHeader = (header: Readonly<Record<string, unknown>>, by = key): string => signToken(by, claims(), header)
const unsigned = (alg: string): string =>
  `${encodePart({ alg, typ: 'at+jwt', kid: key.kid })}.${encodePart(claims())}.c2ln`
const signedWithSecret = (secret: string | Buffer): string => {
  const input = `${encodePart({ alg: 'HS256', typ: 'at+jwt', kid: rsa.kid })}.${encodePart(claims())}`
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const spelledAnew = (good: string, bits: number): string =>
  good.slice(0, -1) + digits[digits.indexOf(good.slice(-1)) ^ bits]

const beyondNumbers = JSON.stringify(claims({ exp: 1 })).replace('"exp":1', '"exp":1e999')

const kids = [
  ...[
    '../../../../dev/null',
    '/etc/passwd',
    "x' UNION SELECT 'key",
    'http://127.0.0.1/keys',
    '__proto__',
    'constructor',
  ],
  ...['elliptic\u0000', 'ELLIPTIC', ' elliptic', '', 'x'.repeat(4000)],
]
const audiences = [
  ...['https://other.example', `${audience}/`, `${audience}.evil.example`, audience.toUpperCase()],
  ...[[], [[audience]], { 0: audience }, undefined],
]
const issuers = ['https://other.example', `${issuer}/`, issuer.toUpperCase(), [issuer], null, undefined]
const types = ['JWT', 'dpop+jwt', 'logout+jwt', 'at+jwt ', 'text/at+jwt', '', null, ['at+jwt'], undefined]
const critical = [{ crit: ['policy'], policy: 'ask' }, { crit: [] }, { crit: ['b64'], b64: true }]
const evil = 'https://evil.example'
const publicKeys = [rsa, key].flatMap(({ publicKey }) => [
  publicKey.export({ type: 'spki', format: 'pem' }),
  publicKey.export({ type: 'spki', format: 'der' }),
  JSON.stringify(publicKey.export({ format: 'jwk' })),
])

const attacks: readonly (readonly [attack: string, cause: string, tokens: readonly string[]])[] = [
  // RFC 8725 §2.1: a token that says of itself that it is unsigned, however it spells that.
  ['without a signature', 'its algorithm is not allowed', ['none', 'None', 'NONE', 'nOnE', ''].map(unsigned)],
  ['without the part of one', 'it is not a signed JWT, or too long', [unsigned('none').slice(0, -'c2ln'.length)]],
  // RFC 8725 §2.1: an attacker signs with the public key as if it were a secret.
  ['whose secret is the public key', 'its algorithm is not allowed', publicKeys.map(signedWithSecret)],
  // CVE-2018-0114: a token that carries the key that it is to be verified with.
  ['that carries its key', 'its header has jwk', [withHeader({ jwk: own.jwk }, own)]],
  ['that carries its certificate', 'its header has x5c', [withHeader({ x5c: ['MIIB'] }, own)]],
  ['by another key of that name', 'its signature is wrong', [signToken(own)]],
  // RFC 8725 §2.9, §3.10: a token names the URL of its key, which a gateway would fetch for an attacker.
  ['that says where its key is', 'its header has jku', [withHeader({ jku: evil }, own)]],
  ['that says where its certificate is', 'its header has x5u', [withHeader({ x5u: evil }, own)]],
  // RFC 8725 §3.10: a kid is only compared, also if it is a path, a query, or a name that every object has.
  [
    'whose kid is no name',
    'the issuer has no key, or several keys, for its kid and alg',
    kids.map((kid) => withHeader({ kid })),
  ],
  [
    ...(['whose kid is no text', 'its kid is not a string'] as const),
    [0, null, true, ['elliptic'], { toString: 'elliptic' }].map((kid) => withHeader({ kid })),
  ],
  // RFC 7515 §4.1.11: a recipient that does not understand a critical header parameter must reject the token.
  ['that calls something critical', 'its header has crit', critical.map((each) => withHeader(each))],
  ['that has expired', 'it has expired', [saying({ exp: now - 60 }), saying({ exp: 0 })]],
  ['without an end', 'it has no expiry (exp)', [saying({ exp: undefined })]],
  ['whose end is no time', 'exp is not a time', [saying({ exp: String(now + 60) }), signToken(key, beyondNumbers)]],
  ['that is for later', 'it is not valid yet', [saying({ nbf: now + 60 })]],
  ['made in the future', 'it was made in the future', [saying({ iat: now + 60 })]],
  ['whose beginning is no time', 'nbf is not a time', [saying({ nbf: null })]],
  // RFC 8725 §3.9: a good token that was made for another service, which sends it here.
  ['for another service', 'it is for another audience', audiences.map((aud) => saying({ aud }))],
  // RFC 8725 §3.8: one that another issuer has made, with a key of the same set.
  ['of another issuer', 'it is of another issuer', issuers.map((iss) => saying({ iss }))],
  // RFC 8725 §3.11, RFC 9068 §4: an ID token, or a proof, of the same issuer and key.
  ['that was signed for something else', 'its type is not allowed', types.map((typ) => withHeader({ typ }))],
  // A client changes a token's spelling, so that it is verified and cached again: the last character of a signature has
  // unused bits (RFC 4648 §3.5).
  [
    'that is spelled anew',
    'its signature is not canonical base64url',
    [signToken(key), signToken(rsa)].flatMap((good) => [1, 7, 15].map((bits) => spelledAnew(good, bits))),
  ],
]

describe('a token is rejected, and the reason quotes nothing of it:', () => {
  const keys = staticIssuerKeys(jwks(key, rsa))

  test.each(attacks)('one %s', async (_, cause, tokens) => {
    for (const token of tokens) {
      const error: unknown = await verifyToken(token, settings, keys).catch((thrown) => thrown)

      expect(error).toMatchObject({ name: 'CredentialRejected', message: expect.stringContaining(cause) })
      for (const part of token.split('.').filter(({ length }) => length > 8))
        expect((error as Error).message).not.toContain(part)
    }
    // It was that, and nothing else, that was wrong.
    expect(await verifyToken(signToken(key), settings, keys)).toBeTruthy()
  })
})

test.each(['HS256', 'none'])('the configuration knows no %s', (algorithm) => {
  const jwt = `{ issuer: a, audience: [b], jwks: 'https://issuer.example/keys', algorithms: [${algorithm}] }`

  expect(findProblems(`${sandbox}\nauth: { methods: [jwt], jwt: ${jwt} }`)).toMatchObject([
    { path: 'auth.jwt.algorithms[0]', message: 'unknown value' },
  ])
})

// The attack: an issuer has published a key of exponent 1, by mistake or because an attacker could write to its set. A
// text padded as in RFC 8017 §9.2 is then its own signature.
test('a key of RSA with an exponent of 1 is none', async () => {
  const weak = { ...signingKey('RS256', 'weak').jwk, e: 'AQ' }
  const input = `${encodePart({ alg: 'RS256', typ: 'at+jwt', kid: 'weak' })}.${encodePart(claims())}`
  const info = Buffer.concat([
    Buffer.from('003031300d060960864801650304020105000420', 'hex'),
    hash('sha256', input, 'buffer'),
  ])
  const padding = Buffer.alloc(256 - 2 - info.length, 0xff)
  const forged = `${input}.${Buffer.concat([Buffer.from([0, 1]), padding, info]).toString('base64url')}`
  const keys = staticIssuerKeys(JSON.stringify({ keys: [key.jwk, weak] }))

  const verified = verifyToken(forged, { ...settings, algorithms: ['ES256', 'RS256'] }, keys)

  await expect(verified).rejects.toThrow('the issuer has no key, or several keys, for its kid and alg')
})
