import { hash } from 'node:crypto'
import type { CryptoKey, JWK, JWTPayload } from 'jose'
import { LRUCache } from 'lru-cache'
import { wallClock } from '../../clock.ts'
import type { GatewayError } from '../../failures/errors.ts'
import type { ReasonOf } from '../../failures/reasons.ts'
import { valuesOf } from '../../fields.ts'
import { isFirst, type Once, unknown } from '../../shared/once/once.ts'
import { type CheckProof, isSame } from './bound.ts'
import { jose } from './jose.ts'
import { identityUnavailable, unproved } from './method.ts'
import { challengeOf, Refused } from './refused.ts'

/** Is what a proof has to be like. */
export interface DpopTerms {
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
const maxProof = 4096
const maxId = 256

/** Tells for how long a proof could come again: all the time that it is not refused for its age, which is told in whole seconds. */
export const replayWindowMs = ({ maxAge, clockTolerance }: Pick<DpopTerms, 'maxAge' | 'clockTolerance'>): number =>
  maxAge + 2 * clockTolerance + 1000

/**
 * Checks that whoever sends a token holds the key that it is bound to, and sends no copy of what the holder sent (RFC 9449 §4.3). A nonce of the
 * server (§9) is not asked for: it would cost each client a request more, and `jti` is remembered anyway. What is cheap comes first; only who
 * shows the right key has a signature checked; and only what is right in all else is remembered.
 */
export const dpop = (terms: DpopTerms, once: Once): CheckProof => {
  const challenge = challengeOf('dpop', terms.algorithms, { error: 'invalid_dpop_proof' })
  const refused = (why: string, reason: ReasonOf<'unauthenticated'> = 'bad-proof'): GatewayError =>
    unproved(challenge, reason, why)
  const keyFor = proofKeys()
  const isOurs = target(terms.publicUrl)

  /** Verifies the signature, by the key that the proof itself brings, and the times. */
  const verified = async (proof: string, jkt: string): Promise<JWTPayload> => {
    const { decodeProtectedHeader, jwtVerify } = await jose()
    try {
      const { jwk, alg = '' } = decodeProtectedHeader(proof)
      const shown = publicJwk(jwk)
      if (shown === null) throw new Refused('bad-proof', 'there is no public key in the proof, or a private one')
      if (!terms.algorithms.includes(alg)) throw new Refused('bad-proof', 'the algorithm of the proof is not allowed')
      if (!isSame(thumbprintOf(shown), jkt)) throw new Refused('bad-proof', 'the proof is of another key')
      const { payload } = await jwtVerify(proof, await keyFor(jkt, shown, alg), {
        typ: 'dpop+jwt',
        algorithms: [alg],
        maxTokenAge: terms.maxAge / 1000,
        clockTolerance: terms.clockTolerance / 1000,
        currentDate: new Date(wallClock()),
      })
      return payload
    } catch (error) {
      throw refused(reasonOf(error))
    }
  }

  return async (exchange, token, jkt, client) => {
    const [proof, ...others] = valuesOf(exchange.fields, 'dpop')
    if (proof === undefined || others.length > 0 || proof.length > maxProof)
      throw refused('there is not exactly one proof')
    const { htm, htu, ath, jti, iat = 0 } = await verified(proof, jkt)
    if (htm !== exchange.operation.method) throw refused('the proof is for another method')
    if (!isOurs(htu, exchange.operation.path)) throw refused('the proof is for another target')
    if (typeof ath !== 'string' || !isSame(ath, hash('sha256', token, 'base64url')))
      throw refused('the proof is for another token')
    if (typeof jti !== 'string' || jti === '' || jti.length > maxId) throw refused('the proof has no usable jti')
    const told = await once.note(keyOf(jkt, jti), client)
    if (told === unknown) throw identityUnavailable('proof-memory', 'nobody can tell whether the proof has come before')
    if (!isFirst(told)) throw refused('the proof has come before', 'replayed-proof')
    // Who remembers may have been asked late: of a proof whose time is over, it may have forgotten that it came before.
    if (wallClock() >= iat * 1000 + terms.maxAge + terms.clockTolerance + 1000)
      throw refused('the proof is too old by now')
  }
}

/** Names a proof for whoever remembers it: 128 bits, whatever a client has written. A jti is a key's own: nobody uses up another's. */
const keyOf = (jkt: string, jti: string): string =>
  hash('sha256', `${jkt}.${jti}`, 'buffer').subarray(0, 16).toString('base64url')

/** Says what is wrong with a proof, by the library's code: the rest of its errors holds what a client wrote. */
const reasonOf = (error: unknown): string => {
  if (error instanceof Refused) return error.message
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'malformed'
  return `the proof is not good: ${code}`
}

/**
 * Compares what a proof is for with where its request came to: by the name that clients know, because Host is what they write, and behind a proxy
 * not even that. Query and fragment do not count (RFC 9449 §4.3); scheme, host, port and dot segments are compared as URLs are (RFC 3986 §6.2.2,
 * §6.2.3); what is percent-encoded is not decoded: none of the nine paths needs that.
 */
const target =
  (publicUrl: string) =>
  (htu: unknown, path: string): boolean => {
    const wanted = publicUrl + path
    if (htu === wanted) return true
    const said = typeof htu === 'string' ? URL.parse(htu) : null
    const ours = URL.parse(wanted)
    if (said === null || ours === null || said.username !== '' || said.password !== '') return false
    return said.origin === ours.origin && said.pathname === ours.pathname
  }

// One of 4096 bits in base64url; a larger one takes more of our time than the client's.
const maxMember = 690
const maxExponent = 8

// How many are kept ready for use. Only those get in that a token which is good is bound to.
const maxKeys = 1000

/** Takes the public key out of what a proof brings; null: it is none, or it comes with a private one (RFC 9449 §4.3, 7). */
export const publicJwk = (jwk: unknown): JWK | null => {
  if (typeof jwk !== 'object' || jwk === null || secret.some((name) => Object.hasOwn(jwk, name))) return null
  const { kty, crv, x, y, n, e } = jwk as Record<string, unknown>
  // Nothing but what makes the key: neither `use` nor `x5u` is of interest here.
  if (kty === 'EC' && isText(crv) && isText(x) && isText(y)) return { kty, crv, x, y }
  if (kty === 'OKP' && isText(crv) && isText(x)) return { kty, crv, x }
  if (kty === 'RSA' && isText(n) && isText(e) && e.length <= maxExponent) return { kty, n, e }
  return null
}

// RFC 7518 §6.2.2, §6.3.2, §6.4.1.
const secret = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= maxMember

/** Makes the thumbprint of what {@link publicJwk} gave: the SHA-256 of what makes the key, in the order of the alphabet (RFC 7638 §3). */
export const thumbprintOf = ({ crv, e, kty, n, x, y }: JWK): string =>
  hash('sha256', JSON.stringify({ crv, e, kty, n, x, y }), 'base64url')

/**
 * Makes what finds the key whose thumbprint is `jkt`, or makes it ready; of many, the one that was not needed for the
 * longest time goes first.
 */
const proofKeys = () => {
  const kept = new LRUCache<string, CryptoKey>({ max: maxKeys })
  return async (jkt: string, jwk: JWK, algorithm: string): Promise<CryptoKey> => {
    const name = `${algorithm} ${jkt}` // a key of RSA is ready for one algorithm only
    const found = kept.get(name)
    if (found !== undefined) return found
    const { importJWK } = await jose()
    const key = await importJWK(jwk, algorithm)
    if (key instanceof Uint8Array) throw new Error('not a public key')
    kept.set(name, key)
    return key
  }
}
