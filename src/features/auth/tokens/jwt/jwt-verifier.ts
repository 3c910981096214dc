import { isPlainObject, parseJson } from '../../../../core/lib/plain-object.ts'
import { CredentialRejected, VerifierUnavailable } from '../../errors.ts'
import { type ClaimExpectations, type Claims, checkClaims } from '../claims.ts'
import { type JwsAlgorithm, jwsAlgorithms, loadJose, type VerificationKey } from '../jwk-set.ts'
import { createTokenCache, maxTokenLength, tokenDigest } from '../token-cache.ts'
import type { IssuerKeys } from './jwks-cache.ts'

export interface JwtVerifierOptions extends ClaimExpectations {
  readonly algorithms: readonly JwsAlgorithm[]
  /** Allowed values of `typ`, without `application/`. */
  readonly types: readonly string[]
}

/** By form alone (RFC 7515 §7.1). Other tokens are introspected. */
export const isJwt = (token: string): boolean => token.length <= maxTokenLength && compact.test(token)

const compact = /^[\w-]+\.[\w-]+\.[\w-]+$/

// A token must not bring keys (RFC 8725 §3.10), extensions that the verifier must know (RFC 7515 §4.1.11), or an
// unsigned payload (`b64`).
const forbiddenParameters = ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'enc'] as const

/**
 * RFC 9068, RFC 8725. Rejects with `VerifierUnavailable`, or with {@link CredentialRejected}, whose message is for the
 * log. `expiresAt`: milliseconds since the epoch, including the tolerance.
 */
export const verifyToken = async (token: string, settings: JwtVerifierOptions, keys: IssuerKeys) => {
  if (!isJwt(token)) throw flaw('it is not a signed JWT, or too long')
  if (!isCanonical(token.slice(token.lastIndexOf('.') + 1))) throw flaw('its signature is not canonical base64url')
  const { algorithm, kid } = readHeader(token, settings)
  if (keys.current === null) await keys.firstSet()
  const known = await lookUpKey(keys, algorithm, kid)
  if (known === null)
    throw new CredentialRejected('unknown-kid', 'the issuer has no key, or several keys, for its kid and alg')
  // RFC 7517 §4.5 requires a new kid for a new key, but some issuers reuse it.
  const { key, payload } = await verifySignature(known, token, algorithm, () =>
    lookUpKey(keys, algorithm, kid, known).catch((error: unknown) => {
      if (error instanceof VerifierUnavailable) return null
      throw error
    }),
  )
  const claims = parseObject(payload, 'its payload')
  const expiresAt = checkClaims(claims, settings)
  if (expiresAt === null) throw flaw('it has no expiry (exp)')
  return { claims, expiresAt: expiresAt + settings.clockTolerance, key }
}

const flaw = (why: string): CredentialRejected => new CredentialRejected('other-token-flaw', why)

// The last character of base64url has bits that no signature covers: a token would have 16 spellings, each verified and
// cached (RFC 4648 §3.5).
const isCanonical = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part

const readHeader = (token: string, settings: JwtVerifierOptions) => {
  const text = Buffer.from(token.slice(0, token.indexOf('.')), 'base64url').toString('utf8')
  const header = parseObject(text, 'its header')
  const { alg, typ, kid } = header
  const algorithm = jwsAlgorithms.find((each) => each === alg)
  if (algorithm === undefined || !settings.algorithms.includes(algorithm))
    throw new CredentialRejected('token-type', `its algorithm is not allowed: ${describeMismatch(header, settings)}`)
  const forbidden = forbiddenParameters.find((name) => Object.hasOwn(header, name))
  if (forbidden !== undefined) throw flaw(`its header has ${forbidden}`)
  if (typeof typ !== 'string' || !settings.types.includes(canonicalType(typ)))
    throw new CredentialRejected('token-type', `its type is not allowed: ${describeMismatch(header, settings)}`)
  if (kid !== undefined && typeof kid !== 'string') throw flaw('its kid is not a string')
  return { algorithm, kid: kid ?? null }
}

/** Names the token's type and algorithm, and those accepted, so that operators see whether issuer or file is wrong. */
const describeMismatch = ({ alg, typ }: Claims, { algorithms, types }: JwtVerifierOptions): string => {
  const type = registeredName(typ, registeredTypes, canonicalType)
  const algorithm = registeredName(alg, registeredAlgorithms)
  return `typ is ${type} and alg ${algorithm}, accepted are typ ${types.join(', ')} and alg ${algorithms.join(', ')}`
}

/** An unregistered text may be a secret, and stays out of the log. */
const registeredName = (value: unknown, names: readonly string[], normalize = (text: string) => text): string => {
  if (value === undefined) return 'missing'
  const name = typeof value === 'string' ? normalize(value) : ''
  return names.includes(name) ? name : 'not a registered name'
}

// IANA's JOSE registry, including algorithms that are not accepted.
const registeredAlgorithms = [
  ...['HS256', 'HS384', 'HS512', 'RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'ES256K', 'EdDSA', 'Ed25519', 'Ed448', 'ML-DSA-44', 'ML-DSA-65', 'ML-DSA-87', 'none'],
]

// Registered media types of JWTs, and `jwt`, which most ID tokens have.
const registeredTypes = [
  ...['jwt', 'at+jwt', 'dpop+jwt', 'logout+jwt', 'secevent+jwt', 'token-introspection+jwt', 'oauth-authz-req+jwt'],
  ...['client-authentication+jwt', 'entity-statement+jwt', 'vc+jwt', 'dc+sd-jwt', 'kb+jwt', 'jose', 'jose+json'],
]

/** Media types ignore case and may omit `application/` (RFC 7515 §4.1.9). */
const canonicalType = (typ: string): string => typ.toLowerCase().replace(/^application\//, '')

/**
 * Fetches keys if none fits, or only `replaced`, whose signature check failed. Null: no key, or several different keys.
 */
const lookUpKey = async (
  keys: IssuerKeys,
  algorithm: JwsAlgorithm,
  kid: string | null,
  replaced: VerificationKey | null = null,
): Promise<VerificationKey | null> => {
  const find = (): VerificationKey | null => {
    // A key listed twice, with and without `use`, counts once.
    const [found = null, ...others] = keys.current?.find(algorithm, kid) ?? []
    if (found === null || !others.every(({ key }) => key.equals(found.key))) return null
    return replaced?.key.equals(found.key) === true ? null : found
  }
  const known = find()
  if (known !== null) return known
  await keys.refetch(() => find() !== null)
  return find()
}

const verifySignature = async (
  known: VerificationKey,
  token: string,
  algorithm: JwsAlgorithm,
  fetchReplacement: () => Promise<VerificationKey | null>,
) => {
  const { compactVerify } = await loadJose()
  // Null: wrong signature. The library's errors may quote the token.
  const verifyWith = (key: VerificationKey) =>
    compactVerify(token, key.key, { algorithms: [algorithm] }).then(
      ({ payload }) => ({ key, payload: new TextDecoder().decode(payload) }),
      () => null,
    )
  const verified = await verifyWith(known)
  if (verified !== null) return verified
  const replacement = await fetchReplacement()
  const again = replacement === null ? null : await verifyWith(replacement)
  if (again === null) throw new CredentialRejected('bad-signature', 'its signature is wrong')
  return again
}

const parseObject = (text: string, what: string): Claims => {
  const parsed = parseJson(text)
  if (isPlainObject(parsed)) return parsed
  throw flaw(`${what} is not ${parsed === undefined ? 'JSON' : 'a JSON object'}`)
}

type VerifiedToken = Awaited<ReturnType<typeof verifyToken>>

export type JwtVerifier = ReturnType<typeof jwtVerifier>

/** Caches a result until the token expires or the issuer withdraws its key. */
export const jwtVerifier = (keys: IssuerKeys, settings: JwtVerifierOptions) => {
  const cache = createTokenCache<VerifiedToken>(({ key }) => keys.current?.has(key) ?? false)
  /** Null: not verified, or no longer valid. */
  const recall = (digest: string): Claims | null => cache.find(digest)?.claims ?? null
  return {
    recall,
    getClaims(token: string): Claims | Promise<Claims> {
      const digest = tokenDigest(token)
      const known = recall(digest)
      if (known !== null) return known
      const loaded = cache.load(digest, async () => {
        const value = await verifyToken(token, settings, keys)
        return { value, expiresAt: value.expiresAt, believedMs: Number.POSITIVE_INFINITY, size: token.length }
      })
      return loaded.then(({ claims }) => claims)
    },
  }
}
