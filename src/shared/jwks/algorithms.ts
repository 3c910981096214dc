import type { KeyObject } from 'node:crypto'

// Asymmetric ones alone: there is no `none` to switch on, and no HMAC that a public key could be the secret of.
const fits = {
  PS256: (key) => isRsa(key),
  PS384: (key) => isRsa(key),
  PS512: (key) => isRsa(key),
  ES256: (key) => isCurve(key, 'prime256v1'),
  ES384: (key) => isCurve(key, 'secp384r1'),
  ES512: (key) => isCurve(key, 'secp521r1'),
  EdDSA: (key) => key.asymmetricKeyType === 'ed25519',
  Ed25519: (key) => key.asymmetricKeyType === 'ed25519',
  RS256: (key) => isRsa(key),
  RS384: (key) => isRsa(key),
  RS512: (key) => isRsa(key),
} as const satisfies Readonly<Record<string, (key: KeyObject) => boolean>>

/** Names an algorithm that tokens may be signed with. */
export type Algorithm = keyof typeof fits

/** Lists them all. Those of PKCS #1 v1.5 (RS…) are for those who ask for them: FAPI 2.0 §5.4 does not allow them. */
export const algorithms = Object.keys(fits) as readonly Algorithm[]

/** Tells whether a key is of the kind that an algorithm signs with: RFC 8725 §3.1. */
export const fitsAlgorithm = (algorithm: Algorithm, key: KeyObject): boolean => fits[algorithm](key)

// RFC 7518 §3.3, §3.5: shorter ones must not be used. With an exponent of 1 a signature is what it signs, so anybody can write one, and an even
// one fits no key (RFC 8017 §3.1); one as long as the modulus makes each check cost what signing does. Those in use are 3 and 65537.
const isRsa = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean => {
  if (asymmetricKeyType !== 'rsa' || asymmetricKeyDetails === undefined) return false
  const { modulusLength = 0, publicExponent = 1n } = asymmetricKeyDetails
  return modulusLength >= 2048 && publicExponent >= 3n && publicExponent < 2n ** 32n && publicExponent % 2n === 1n
}

const isCurve = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject, name: string): boolean =>
  asymmetricKeyType === 'ec' && asymmetricKeyDetails?.namedCurve === name
