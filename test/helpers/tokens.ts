import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A pair of keys of an issuer, with its public half as a JWKS would list it. */
export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly jwk: Readonly<Record<string, unknown>>
}

/** Makes a pair of keys for an algorithm. */
export const signingKey = (
  alg: 'ES256' | 'PS256' | 'RS256' | 'EdDSA' | 'Ed25519',
  kid: string,
  named: object = {},
): SigningKey => {
  const { publicKey, privateKey } =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : alg === 'EdDSA' || alg === 'Ed25519'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig', ...named }
  return { kid, alg, privateKey, publicKey, jwk }
}

/** Writes a JWK Set. */
export const jwks = (...keys: readonly SigningKey[]): string => JSON.stringify({ keys: keys.map(({ jwk }) => jwk) })

/** The issuer and the audience of the tokens of tests. */
export const issuer = 'https://issuer.example'
export const audience = 'https://gateway.example'

/** Says what a good token says, now; `other` differs, and what is undefined is left out. */
export const claims = (other: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> => {
  const now = Math.floor(Date.now() / 1000)
  return { iss: issuer, aud: audience, sub: 'robot', client_id: 'bank-a', iat: now, exp: now + 300, ...other }
}

/** Encodes what a token is made of; text as it is. */
export const encodePart = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/**
 * Signs a token by hand, whatever it says: libraries reject to make most of those that are attacks. A payload that is
 * text is taken as it is.
 */
export const signToken = (
  key: SigningKey,
  payload: unknown = claims(),
  header: Readonly<Record<string, unknown>> = {},
): string => {
  const input = `${encodePart({ alg: key.alg, typ: 'at+jwt', kid: key.kid, ...header })}.${encodePart(payload)}`
  return `${input}.${signatureOf(key, input)}`
}

const signatureOf = ({ alg, privateKey }: SigningKey, input: string): string => {
  const data = Buffer.from(input)
  if (alg === 'EdDSA' || alg === 'Ed25519') return sign(null, data, privateKey).toString('base64url')
  if (alg === 'ES256') return sign('sha256', data, { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')
  const padding = alg === 'PS256' ? { padding: 6, saltLength: 32 } : {} // RSA_PKCS1_PSS_PADDING
  return sign('sha256', data, { key: privateKey, ...padding }).toString('base64url')
}
