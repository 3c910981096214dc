import { type Algorithm, algorithms, type Key, type KeySet } from '../../../shared/jwks/key-set.ts'
import { type Claims, type ClaimsOf, checkClaims, type Expected } from '../claims.ts'
import { jose } from '../jose.ts'
import { Refused } from '../refused.ts'
import { digestOf, TokenCache } from '../token-cache.ts'
import type { Keys } from './keys.ts'

/** Is what a token must be. */
export interface VerifySettings extends Expected {
  readonly algorithms: readonly Algorithm[]
  /** What its `typ` may be, without `application/`. */
  readonly types: readonly string[]
}

// A token of that size is no token: all fields together have 32 KiB by default, and each byte is hashed and decoded.
const maxLength = 8192

/** Tells whether a token has the form of a signed JWT: RFC 7515 §7.1. Others are for introspection. */
export const isJwt = (token: string): boolean => token.length <= maxLength && compact.test(token)

const compact = /^[\w-]+\.[\w-]+\.[\w-]+$/

// A token brings no keys (RFC 8725 §3.10) and nothing that would have to be understood: RFC 7515 §4.1.11. What is not signed (`b64`) is none.
const refusedParameters = ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'enc'] as const

/**
 * Verifies an access token (RFC 9068, as RFC 8725 would have it). Rejects with `Refused`, for the log alone: whoever
 * sent it learns nothing of why; or with `Unavailable`. Resolves with what it says, when it ends, in ms since the
 * epoch, and the key that it was verified with.
 */
export const verifyToken = async (token: string, settings: VerifySettings, keys: Keys) => {
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

const readHeader = (token: string, settings: VerifySettings) => {
  const header = objectOf(Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('utf8'), 'its header')
  const { alg, typ, kid } = header
  const algorithm = algorithms.find((each) => each === alg)
  if (algorithm === undefined || !settings.algorithms.includes(algorithm))
    throw new Refused('token-type', `its algorithm is not allowed: ${difference(header, settings)}`)
  const refused = refusedParameters.find((name) => Object.hasOwn(header, name))
  if (refused !== undefined) throw new Refused('other-token-flaw', `its header has ${refused}`)
  if (typeof typ !== 'string' || !settings.types.includes(typeOf(typ)))
    throw new Refused('token-type', `its type is not allowed: ${difference(header, settings)}`)
  if (kid !== undefined && typeof kid !== 'string') throw new Refused('other-token-flaw', 'its kid is not a string')
  return { algorithm, kid: kid ?? null }
}

/** Says which type and algorithm came, and which are taken: most often it is the issuer, or the file, that has to be told of the other. */
const difference = ({ alg, typ }: Claims, { algorithms, types }: VerifySettings): string => {
  const [type, algorithm] = [registered(typ, registeredTypes, typeOf), registered(alg, registeredAlgorithms)]
  return `typ is ${type} and alg ${algorithm}, taken are typ ${types.join(', ')} and alg ${algorithms.join(', ')}`
}

/** Says what a token calls itself, as far as that is a registered name: anything may stand there, a secret too, and none of it is for the log. */
const registered = (value: unknown, names: readonly string[], spelled = (text: string): string => text): string => {
  if (value === undefined) return 'missing'
  const name = typeof value === 'string' ? spelled(value) : ''
  return names.includes(name) ? name : 'not a registered name'
}

// Of IANA's list for JOSE, those by which tokens are signed; for all that, one may come that is taken nowhere.
const registeredAlgorithms = [
  ...['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'ES256K', 'EdDSA', 'Ed25519', 'Ed448', 'ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87', 'none'],
]

// What issuers are known to write: of the registered media types of JWTs, and the type of any JWT, of most ID tokens too.
const registeredTypes = [
  ...['jwt', 'at+jwt', 'dpop+jwt', 'logout+jwt', 'secevent+jwt', 'token-introspection+jwt', 'oauth-authz-req+jwt'],
  ...['client-authentication+jwt', 'entity-statement+jwt', 'vc+jwt', 'dc+sd-jwt', 'kb+jwt', 'jose', 'jose+json'],
]

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

/**
 * Verifies tokens of one issuer, each once for as long as it is good: until it expires, or the key that it was signed with is not one of the
 * issuer's any more.
 */
export const jwtVerifier = (keys: Keys, settings: VerifySettings): ClaimsOf => {
  const cache = new TokenCache<Awaited<ReturnType<typeof verifyToken>>>(({ key }) => keys.current?.holds(key) ?? false)
  return (token) => {
    const digest = digestOf(token)
    const known = cache.find(digest)
    if (known !== null) return known.claims
    const learnt = cache.learn(digest, async () => {
      const value = await verifyToken(token, settings, keys)
      return { value, until: value.expiresAt, size: token.length }
    })
    return learnt.then(({ claims }) => claims)
  }
}
