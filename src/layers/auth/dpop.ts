import { hash } from 'node:crypto'
import type { CryptoKey, JWK, JWTPayload } from 'jose'
import { LRUCache } from 'lru-cache'
import { epochMs } from '../../clock.ts'
import type { GatewayError } from '../../failures/errors.ts'
import type { ReasonFor } from '../../failures/reasons.ts'
import { getFieldValues } from '../../header-fields.ts'
import { firstUseUnknown, isFirstUse, type ReplayCache } from '../../shared/replay-cache.ts'
import { identityUnavailable, unauthenticated } from './authenticator.ts'
import { CredentialRejected, createAuthChallenge } from './errors.ts'
import { loadJose } from './jose.ts'
import { type CheckDpopProof, isSameDigest } from './sender-constraint.ts'

/** Is what a proof has to be like. */
export interface DpopOptions {
  /** What it may be signed with: asymmetric algorithms only. */
  readonly algorithms: readonly string[]
  /** How old it may be. */
  readonly maxAge: number
  /** How far the clock of a client may be from the gateway's, either way. */
  readonly clockTolerance: number
  /** `{base_url}` as clients write it, without a slash at its end. */
  readonly publicUrl: string
}

// One is a few hundred characters; with RSA, not much over a thousand.
const maxProofLength = 4096
const maxJtiLength = 256

/** Tells for how long a proof could come again: all the time that it is not refused for its age, which is told in whole seconds. */
export const replayWindowMs = ({ maxAge, clockTolerance }: Pick<DpopOptions, 'maxAge' | 'clockTolerance'>): number =>
  maxAge + 2 * clockTolerance + 1000

/**
 * Checks that whoever sends a token holds the key that it is bound to, and sends no copy of what the holder sent (RFC 9449 §4.3). A nonce of the
 * server (§9) is not asked for: it would cost each client a request more, and `jti` is remembered anyway. What is cheap comes first; only who
 * shows the right key has a signature checked; and only what is right in all else is remembered.
 */
export const dpopProofChecker = (options: DpopOptions, once: ReplayCache): CheckDpopProof => {
  const challenge = createAuthChallenge('dpop', options.algorithms, { error: 'invalid_dpop_proof' })
  const rejected = (why: string, reason: ReasonFor<'unauthenticated'> = 'bad-proof'): GatewayError =>
    unauthenticated(challenge, reason, why)
  const importKey = createKeyCache()
  const isThisTarget = targetMatcher(options.publicUrl)

  /** Verifies the signature, by the key that the proof itself brings, and the times. */
  const verifyProof = async (proof: string, jkt: string): Promise<JWTPayload> => {
    const { decodeProtectedHeader, jwtVerify } = await loadJose()
    try {
      const { jwk, alg = '' } = decodeProtectedHeader(proof)
      const proofJwk = publicJwk(jwk)
      if (proofJwk === null)
        throw new CredentialRejected('bad-proof', 'there is no public key in the proof, or a private one')
      if (!options.algorithms.includes(alg))
        throw new CredentialRejected('bad-proof', 'the algorithm of the proof is not allowed')
      if (!isSameDigest(jwkThumbprint(proofJwk), jkt))
        throw new CredentialRejected('bad-proof', 'the proof is of another key')
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
    if (!isThisTarget(htu, exchange.operation.path)) throw rejected('the proof is for another target')
    if (typeof ath !== 'string' || !isSameDigest(ath, hash('sha256', token, 'base64url')))
      throw rejected('the proof is for another token')
    if (typeof jti !== 'string' || jti === '' || jti.length > maxJtiLength)
      throw rejected('the proof has no usable jti')
    const result = await once.record(replayKey(jkt, jti), client)
    if (result === firstUseUnknown)
      throw identityUnavailable('proof-memory', 'nobody can tell whether the proof has come before')
    if (!isFirstUse(result)) throw rejected('the proof has come before', 'replayed-proof')
    // Who remembers may have been asked late: of a proof whose time is over, it may have forgotten that it came before.
    if (epochMs() >= iat * 1000 + options.maxAge + options.clockTolerance + 1000)
      throw rejected('the proof is too old by now')
  }
}

/** Names a proof for whoever remembers it: 128 bits, whatever a client has written. A jti is a key's own: nobody uses up another's. */
const replayKey = (jkt: string, jti: string): string =>
  hash('sha256', `${jkt}.${jti}`, 'buffer').subarray(0, 16).toString('base64url')

/** Says what is wrong with a proof, by the library's code: the rest of its errors holds what a client wrote. */
const describeProofError = (error: unknown): string => {
  if (error instanceof CredentialRejected) return error.message
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'malformed'
  return `the proof is not good: ${code}`
}

/**
 * Compares what a proof is for with where its request came to: by the name that clients know, because Host is what they write, and behind a proxy
 * not even that. Query and fragment do not count (RFC 9449 §4.3); scheme, host, port and dot segments are compared as URLs are (RFC 3986 §6.2.2,
 * §6.2.3); what is percent-encoded is not decoded: none of the nine paths needs that.
 */
const targetMatcher =
  (publicUrl: string) =>
  (htu: unknown, path: string): boolean => {
    const wanted = publicUrl + path
    if (htu === wanted) return true
    const claimed = typeof htu === 'string' ? URL.parse(htu) : null
    const ours = URL.parse(wanted)
    if (claimed === null || ours === null || claimed.username !== '' || claimed.password !== '') return false
    return claimed.origin === ours.origin && claimed.pathname === ours.pathname
  }

// One of 4096 bits in base64url; a larger one takes more of our time than the client's.
const maxMemberLength = 690
const maxExponent = 8

// How many are kept ready for use. Only those get in that a token which is good is bound to.
const maxCachedKeys = 1000

/** Takes the public key out of what a proof brings; null: it is none, or it comes with a private one (RFC 9449 §4.3, 7). */
export const publicJwk = (jwk: unknown): JWK | null => {
  if (typeof jwk !== 'object' || jwk === null || privateMembers.some((name) => Object.hasOwn(jwk, name))) return null
  const { kty, crv, x, y, n, e } = jwk as Record<string, unknown>
  // Nothing but what makes the key: neither `use` nor `x5u` is of interest here.
  if (kty === 'EC' && isText(crv) && isText(x) && isText(y)) return { kty, crv, x, y }
  if (kty === 'OKP' && isText(crv) && isText(x)) return { kty, crv, x }
  if (kty === 'RSA' && isText(n) && isText(e) && e.length <= maxExponent) return { kty, n, e }
  return null
}

// RFC 7518 §6.2.2, §6.3.2, §6.4.1.
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= maxMemberLength

/** Makes the thumbprint of what {@link publicJwk} gave: the SHA-256 of what makes the key, in the order of the alphabet (RFC 7638 §3). */
export const jwkThumbprint = ({ crv, e, kty, n, x, y }: JWK): string =>
  hash('sha256', JSON.stringify({ crv, e, kty, n, x, y }), 'base64url')

/**
 * Makes what finds the key whose thumbprint is `jkt`, or makes it ready; of many, the one that was not needed for the
 * longest time goes first.
 */
const createKeyCache = () => {
  const cached = new LRUCache<string, CryptoKey>({ max: maxCachedKeys })
  return async (jkt: string, jwk: JWK, algorithm: string): Promise<CryptoKey> => {
    const name = `${algorithm} ${jkt}` // a key of RSA is ready for one algorithm only
    const found = cached.get(name)
    if (found !== undefined) return found
    const { importJWK } = await loadJose()
    const key = await importJWK(jwk, algorithm)
    if (key instanceof Uint8Array) throw new Error('not a public key')
    cached.set(name, key)
    return key
  }
}
