import { type Algorithm, algorithms } from '../../../shared/jwks/algorithms.ts'
import type { Key, KeySet } from '../../../shared/jwks/key-set.ts'
import { type Claims, checkClaims, type Expected } from '../claims.ts'
import { jose } from '../jose.ts'
import { Refused } from '../refused.ts'
import type { Keys } from './keys.ts'

/** Is what a token must be. */
export interface VerifySettings extends Expected {
  readonly algorithms: readonly Algorithm[]
  /** What its `typ` may be, without `application/`. */
  readonly types: readonly string[]
}

/** Is what a good token says. */
export interface VerifiedToken {
  readonly claims: Claims
  /** When it ends, in ms since the epoch. */
  readonly expiresAt: number
  /** What it was verified with. */
  readonly key: Key
}

// A token of that size is no token: all fields together have 32 KiB by default, and each byte is hashed and decoded.
const maxLength = 8192

/** Tells whether a token has the form of a signed JWT: RFC 7515 §7.1. Others are for introspection. */
export const isJwt = (token: string): boolean => token.length <= maxLength && compact.test(token)

const compact = /^[\w-]+\.[\w-]+\.[\w-]+$/

// A token brings no keys (RFC 8725 §3.10) and nothing that would have to be understood: RFC 7515 §4.1.11. What is not signed (`b64`) is none.
const refusedParameters = ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'enc'] as const

/**
 * Verifies an access token (RFC 9068, as RFC 8725 would have it). Rejects with `Refused`, for the log alone: whoever sent it learns nothing
 * of why; or with `Unavailable`.
 */
export const verifyToken = async (token: string, settings: VerifySettings, keys: Keys): Promise<VerifiedToken> => {
  if (!isJwt(token)) throw new Refused('other-token-flaw', 'it is not a signed JWT, or too long')
  if (!isCanonical(token.slice(token.lastIndexOf('.') + 1)))
    throw new Refused('other-token-flaw', 'its signature is not spelled as it should be')
  const { algorithm, kid } = readHeader(token, settings)
  const set = keys.current ?? (await keys.first())
  const key = keyOf(set, algorithm, kid) ?? (await seekKey(keys, algorithm, kid))
  const claims = await signedBy(key, token, algorithm)
  const expiresAt = checkClaims(claims, settings)
  if (expiresAt === null) throw new Refused('other-token-flaw', 'it does not say when it expires')
  return { claims, expiresAt, key }
}

// The other two parts are signed as they are spelled, but bits that base64url leaves over here mean nothing: whoever has one token would have
// sixteen, each verified and remembered by itself (RFC 4648 §3.5).
const isCanonical = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part

interface Header {
  readonly algorithm: Algorithm
  readonly kid: string | null
}

const readHeader = (token: string, settings: VerifySettings): Header => {
  const header = objectOf(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('utf8'), 'its header')
  const { alg, typ, kid } = header
  const algorithm = algorithms.find((each) => each === alg)
  if (algorithm === undefined || !settings.algorithms.includes(algorithm))
    throw new Refused('token-type', 'its algorithm is not allowed')
  const refused = refusedParameters.find((name) => Object.hasOwn(header, name))
  if (refused !== undefined) throw new Refused('other-token-flaw', `its header has ${refused}`)
  if (typeof typ !== 'string' || !settings.types.includes(typeOf(typ)))
    throw new Refused('token-type', 'its type is not allowed')
  if (kid !== undefined && typeof kid !== 'string') throw new Refused('other-token-flaw', 'its kid is not a string')
  return { algorithm, kid: kid ?? null }
}

/** Spells a type as one that is allowed is compared: media types know no case, and may leave out `application/` (RFC 7515 §4.1.9). */
export const typeOf = (typ: string): string => typ.toLowerCase().replace(/^application\//, '')

/** Finds the key of a token; null: there is none, or more than one that may be meant. One that is listed twice, with and without `use`, is one. */
const keyOf = (set: KeySet, algorithm: Algorithm, kid: string | null): Key | null => {
  const [key, ...others] = set.find(algorithm, kid)
  return key !== undefined && others.every((other) => other.key.equals(key.key)) ? key : null
}

/** Looks for a key that the issuer may have begun to use just now. */
const seekKey = async (keys: Keys, algorithm: Algorithm, kid: string | null): Promise<Key> => {
  const find = (): Key | null => (keys.current === null ? null : keyOf(keys.current, algorithm, kid))
  await keys.seek(() => find() !== null)
  const key = find()
  if (key === null) throw new Refused('unknown-kid', 'no key, or no single one, is known for it')
  return key
}

const signedBy = async ({ key }: Key, token: string, algorithm: Algorithm): Promise<Claims> => {
  const { compactVerify } = await jose()
  const verified = await compactVerify(token, key, { algorithms: [algorithm] }).catch(() => {
    throw new Refused('bad-signature', 'its signature is wrong') // the library's errors may hold what the token says
  })
  return objectOf(new TextDecoder().decode(verified.payload), 'its payload')
}

const objectOf = (text: string, what: string): Claims => {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new Refused('other-token-flaw', `${what} is not JSON`)
  }
  if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Claims
  throw new Refused('other-token-flaw', `${what} is not a JSON object`)
}
