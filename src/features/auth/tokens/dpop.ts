import { hash } from 'node:crypto'
import type { CryptoKey, JWK, JWTPayload } from 'jose'
import { LRUCache } from 'lru-cache'
import type { GatewayError, ReasonFor } from '../../../core/exchange/failures/errors.ts'
import { getFieldValues } from '../../../core/exchange/header-fields.ts'
import { epochMs } from '../../../core/lib/clock.ts'
import type { AuthConfig } from '../config.ts'
import { CredentialRejected, createAuthChallenge, identityUnavailable, unauthenticated } from '../errors.ts'
import { loadJose, privateJwkMembers } from './jwk-set.ts'
import { firstUseUnknown, isFirstUse, type ReplayCache } from './replay-cache.ts'
import { type CheckDpopProof, isSameDigest } from './token-authenticator.ts'

/** Milliseconds. `publicUrl`: `{base_url}` as clients write it, without a trailing slash. */
type DpopOptions = Pick<NonNullable<AuthConfig['dpop']>, 'maxAge' | 'clockTolerance'> & {
  readonly algorithms: readonly string[]
  readonly publicUrl: string
}

// A proof has a few hundred characters; with RSA, just over a thousand.
const maxProofLength = 4096
const maxJtiLength = 256

/** How long a proof can be replayed, in milliseconds: its age is measured in whole seconds. */
export const replayWindowMs = ({ maxAge, clockTolerance }: Pick<DpopOptions, 'maxAge' | 'clockTolerance'>): number =>
  maxAge + 2 * clockTolerance + 1000

/**
 * The sender of a token must prove possession of its key with a new proof (RFC 9449 §4.3). There is no server nonce
 * (§9): it costs each client a further request, and `jti` is remembered anyway. Cheap checks come first; a signature is
 * checked only for the right key, and only a valid proof is remembered.
 */
export const dpopProofChecker = (options: DpopOptions, replayCache: ReplayCache): CheckDpopProof => {
  const challenge = createAuthChallenge('dpop', options.algorithms, { error: 'invalid_dpop_proof' })
  const rejected = (why: string, reason: ReasonFor<'unauthenticated'> = 'bad-proof'): GatewayError =>
    unauthenticated(challenge, reason, why)
  const importKey = createKeyCache()

  const verifyProof = async (proof: string, jkt: string): Promise<JWTPayload> => {
    const { decodeProtectedHeader, jwtVerify } = await loadJose()
    try {
      const { jwk, alg = '' } = decodeProtectedHeader(proof)
      const proofJwk = publicJwk(jwk)
      if (proofJwk === null) throw flaw('the proof has no public key, or a private key')
      if (!options.algorithms.includes(alg)) throw flaw('the algorithm of the proof is not allowed')
      if (!isSameDigest(jwkThumbprint(proofJwk), jkt)) throw flaw('the proof is of another key')
      const { payload } = await jwtVerify(proof, await importKey(jkt, proofJwk, alg), {
        typ: 'dpop+jwt',
        algorithms: [alg],
        maxTokenAge: options.maxAge / 1000,
        clockTolerance: options.clockTolerance / 1000,
        currentDate: new Date(epochMs()),
      })
      return payload
    } catch (error) {
      throw rejected(describeProofError(error))
    }
  }

  return async (exchange, token, jkt, client) => {
    const [proof, ...others] = getFieldValues(exchange.fields, 'dpop')
    if (proof === undefined || others.length > 0 || proof.length > maxProofLength)
      throw rejected('there is not exactly one proof')
    const { htm, htu, ath, jti, iat = 0 } = await verifyProof(proof, jkt)
    if (htm !== exchange.operation.method) throw rejected('the proof is for another method')
    if (!isSameTarget(htu, options.publicUrl + exchange.operation.path))
      throw rejected('the proof is for another target')
    if (typeof ath !== 'string' || !isSameDigest(ath, hash('sha256', token, 'base64url')))
      throw rejected('the proof is for another token')
    if (typeof jti !== 'string' || jti === '' || jti.length > maxJtiLength)
      throw rejected('the proof has no usable jti')
    const result = await replayCache.record(replayKey(jkt, jti), client, iat * 1000)
    if (result === firstUseUnknown)
      throw identityUnavailable('proof-memory', 'the replay cache did not say whether the proof was used before')
    if (!isFirstUse(result)) throw rejected('the proof was used before', 'replayed-proof')
    // A late reply of the replay cache may have forgotten an earlier use of a proof that has expired since.
    if (epochMs() >= iat * 1000 + options.maxAge + options.clockTolerance + 1000)
      throw rejected('the proof is too old by now')
  }
}

const flaw = (why: string): CredentialRejected => new CredentialRejected('bad-proof', why)

/** 128 bits for any `jti`. Includes the key, so that no client can use up another client's `jti`. */
const replayKey = (jkt: string, jti: string): string =>
  hash('sha256', `${jkt}.${jti}`, 'buffer').subarray(0, 16).toString('base64url')

/** The library's error code alone: its messages quote the client. */
const describeProofError = (error: unknown): string => {
  if (error instanceof CredentialRejected) return error.message
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'malformed'
  return `the proof is invalid: ${code}`
}

/**
 * Compares with the public URL: clients choose Host, and a proxy may change it. Ignores query and fragment (RFC 9449
 * §4.3). Normalizes scheme, host, port and dot segments (RFC 3986 §6.2.2, §6.2.3), but not percent-encoding, which none
 * of the nine paths needs.
 */
const isSameTarget = (htu: unknown, wanted: string): boolean => {
  if (htu === wanted) return true
  const claimed = typeof htu === 'string' ? URL.parse(htu) : null
  const ours = URL.parse(wanted)
  if (claimed === null || ours === null || claimed.username !== '' || claimed.password !== '') return false
  return claimed.origin === ours.origin && claimed.pathname === ours.pathname
}

// The length of a member of a 4096-bit key in base64url. Checking a larger key costs the gateway more than the client.
const maxMemberLength = 690
const maxExponent = 8

// Only keys of valid tokens are cached.
const maxCachedKeys = 1000

/** Null: no public key, or a private key (RFC 9449 §4.3, 7). */
export const publicJwk = (jwk: unknown): JWK | null => {
  if (typeof jwk !== 'object' || jwk === null || privateJwkMembers.some((name) => Object.hasOwn(jwk, name))) return null
  const { kty, crv, x, y, n, e } = jwk as Record<string, unknown>
  // `use` and `x5u` do not matter here.
  if (kty === 'EC' && isText(crv) && isText(x) && isText(y)) return { kty, crv, x, y }
  if (kty === 'OKP' && isText(crv) && isText(x)) return { kty, crv, x }
  if (kty === 'RSA' && isText(n) && isText(e) && e.length <= maxExponent) return { kty, n, e }
  return null
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= maxMemberLength

/** SHA-256 of a {@link publicJwk}'s members in alphabetical order (RFC 7638 §3). */
export const jwkThumbprint = ({ crv, e, kty, n, x, y }: JWK): string =>
  hash('sha256', JSON.stringify({ crv, e, kty, n, x, y }), 'base64url')

const createKeyCache = () => {
  const cached = new LRUCache<string, CryptoKey>({ max: maxCachedKeys })
  return async (jkt: string, jwk: JWK, algorithm: string): Promise<CryptoKey> => {
    const name = `${algorithm} ${jkt}` // an imported RSA key is for one algorithm
    const found = cached.get(name)
    if (found !== undefined) return found
    const { importJWK } = await loadJose()
    const key = await importJWK(jwk, algorithm)
    if (key instanceof Uint8Array) throw new Error('not a public key')
    cached.set(name, key)
    return key
  }
}
