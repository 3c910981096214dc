import { type AsymmetricKeyDetails, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { loadOnce } from '../../../core/lib/memo.ts'
import { isPlainObject, parseJson } from '../../../core/lib/plain-object.ts'
import { tryOrNull } from '../../../core/lib/try.ts'

// Asymmetric only: no `none`, and no HMAC, for which a public key could be taken as the secret.
const keyKinds = {
  PS256: 'rsa',
  PS384: 'rsa',
  PS512: 'rsa',
  ES256: 'prime256v1',
  ES384: 'secp384r1',
  ES512: 'secp521r1',
  EdDSA: 'ed25519',
  Ed25519: 'ed25519',
  RS256: 'rsa',
  RS384: 'rsa',
  RS512: 'rsa',
} as const

export type JwsAlgorithm = keyof typeof keyKinds

/** PKCS #1 v1.5 (RS…) is off by default: FAPI 2.0 §5.4 does not allow it. */
export const jwsAlgorithms = Object.keys(keyKinds) as readonly JwsAlgorithm[]

// RFC 7518 §3.3, §3.5: 2048 bits at least. With exponent 1, a signature equals the signed text, so anyone could forge
// it. No key has an even exponent (RFC 8017 §3.1). An exponent as long as the modulus makes a check as expensive as
// signing. Common exponents are 3 and 65537.
const isSoundRsa = ({ modulusLength = 0, publicExponent = 1n }: AsymmetricKeyDetails): boolean =>
  modulusLength >= 2048 && publicExponent >= 3n && publicExponent < 2n ** 32n && publicExponent % 2n === 1n

/** RFC 8725 §3.1. */
const fitsAlgorithm = ({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject, by: JwsAlgorithm) =>
  type === 'rsa'
    ? keyKinds[by] === 'rsa' && isSoundRsa(details)
    : keyKinds[by] === (type === 'ec' ? details.namedCurve : type)

/** An equal key of a later set is the same object. */
export interface VerificationKey {
  /** Opaque, only compared. Null: none. */
  readonly kid: string | null
  /** The key's only algorithm. Null: not stated. */
  readonly algorithm: string | null
  readonly key: KeyObject
}

export interface JwkSet {
  /** Usable keys: well formed, for signatures, and of a kind that an algorithm uses (RFC 7517 §5). */
  readonly size: number
  readonly byFingerprint: ReadonlyMap<string, VerificationKey>
  has(key: VerificationKey): boolean
  find(algorithm: JwsAlgorithm, kid: string | null): readonly VerificationKey[]
}

// More than any issuer has; each costs time to parse.
const maxKeys = 100

/** RFC 7517 §5. Throws an Error that quotes nothing of the text. `before`: the set that is replaced. */
export const parseJwkSet = (text: string, before: JwkSet | null): JwkSet => {
  const entries = parseKeyList(text)
  if (entries.length > maxKeys) throw new Error(`it holds more than ${maxKeys} keys`)
  const byFingerprint = new Map<string, VerificationKey>()
  for (const entry of entries) {
    const fingerprint = keyFingerprint(entry)
    if (fingerprint === null) continue
    const key = before?.byFingerprint.get(fingerprint) ?? parseJwk(entry as JsonWebKey)
    if (key !== null) byFingerprint.set(fingerprint, key)
  }
  const keys = [...byFingerprint.values()]
  const keySet = new Set(keys)
  return {
    size: keys.length,
    byFingerprint,
    has: (key) => keySet.has(key),
    find: (algorithm, kid) => keys.filter((key) => (kid === null || key.kid === kid) && isUsableFor(key, algorithm)),
  }
}

const parseKeyList = (text: string): readonly unknown[] => {
  const parsed = parseJson(text)
  if (parsed === undefined) throw new Error('it is not JSON') // the parser's message quotes the text
  const keys = isPlainObject(parsed) ? parsed.keys : undefined
  if (!Array.isArray(keys)) throw new Error('it is not a JWK Set: an object with a list of keys')
  return keys
}

// Without private members (`d`, `k`): a key with them is not used, because any reader of the set could sign.
const publicMembers = ['kty', 'kid', 'alg', 'use', 'key_ops', 'crv', 'x', 'y', 'n', 'e'] as const

/** RFC 7518 §6.2.2, §6.3.2, §6.4.1. */
export const privateJwkMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** Null: not usable. */
const keyFingerprint = (entry: unknown): string | null => {
  if (!isPlainObject(entry) || privateJwkMembers.some((part) => part in entry)) return null
  const { kid, alg, use, key_ops: operations } = entry
  if ([kid, alg, use].some((value) => value !== undefined && typeof value !== 'string')) return null
  if (use !== undefined && use !== 'sig') return null
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) return null
  return JSON.stringify(publicMembers.map((part) => entry[part] ?? null))
}

const parseJwk = (jwk: JsonWebKey): VerificationKey | null => {
  const key = tryOrNull(() => createPublicKey({ key: jwk, format: 'jwk' }))
  const parsed = key && { kid: stringOrNull(jwk.kid), algorithm: stringOrNull(jwk.alg), key }
  return parsed && jwsAlgorithms.some((algorithm) => isUsableFor(parsed, algorithm)) ? parsed : null
}

const isUsableFor = ({ algorithm, key }: VerificationKey, expected: JwsAlgorithm): boolean =>
  (algorithm === null || algorithm === expected) && fitsAlgorithm(key, expected)

const stringOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** Loading takes tens of milliseconds, so the first verification does it. */
export const loadJose = loadOnce(() => import('jose'))
