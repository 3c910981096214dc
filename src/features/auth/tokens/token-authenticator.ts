import { timingSafeEqual } from 'node:crypto'
import type { Exchange } from '../../../core/exchange/exchange.ts'
import type { GatewayError, ReasonFor } from '../../../core/exchange/failures/errors.ts'
import type { Authenticator, AuthResult } from '../auth.ts'
import { certificateThumbprint, type GetClientCertificate } from '../client-certificate.ts'
import type { ClientRegistry } from '../client-registry.ts'
import {
  type AuthScheme,
  CredentialRejected,
  createAuthChallenge,
  identityUnavailable,
  type ProofAlgorithms,
  unauthenticated,
  VerifierUnavailable,
} from '../errors.ts'
import type { Claims, GetClaims } from './claims.ts'
import { parseTokenCredential, type TokenCredential } from './token-credential.ts'

export interface TokenAuthenticatorOptions {
  readonly name: 'jwt' | 'introspection'
  readonly getClaims: GetClaims
  readonly accepts: (token: string) => boolean
  readonly clients: ClientRegistry
  readonly checkSenderConstraint: CheckSenderConstraint
  /** Of certificates that a token may be bound to, in lower case. */
  readonly certificateFields: readonly string[]
  readonly algorithms: ProofAlgorithms
}

/** Access tokens (RFC 6750), and the keys or certificates they are bound to (RFC 8705 §3, RFC 9449 §7). */
export const tokenAuthenticator = (options: TokenAuthenticatorOptions): Authenticator => {
  const { name, getClaims, accepts, clients, checkSenderConstraint, algorithms } = options
  const schemes: readonly AuthScheme[] = algorithms === null ? ['bearer'] : ['bearer', 'dpop']
  return {
    name,
    fields: ['authorization', 'dpop', ...options.certificateFields],
    challenge: schemes.map((scheme) => createAuthChallenge(scheme, algorithms)).join(', '),
    applies({ fields }) {
      const credential = parseTokenCredential(fields)
      return credential !== null && accepts(credential.token)
    },
    authenticate(exchange) {
      const credential = parseTokenCredential(exchange.fields) ?? noCredential
      const { scheme, token } = credential
      const checkConstraint = (claims: Claims): AuthResult | Promise<AuthResult> => {
        const result = { client: clients.byClaims(claims), token: { scheme, claims } }
        const checked = checkSenderConstraint(exchange, claims, credential, result.client?.id ?? '')
        return checked instanceof Promise ? checked.then(() => result) : result
      }
      const invalid = (error: unknown): never =>
        rethrow(error, createAuthChallenge(scheme, algorithms, { error: 'invalid_token' }))
      try {
        const claims = getClaims(token)
        return claims instanceof Promise ? claims.then(checkConstraint).catch(invalid) : checkConstraint(claims)
      } catch (error) {
        return invalid(error)
      }
    },
  }
}

const noCredential = { scheme: 'bearer', token: '' } as const

const rethrow = (error: unknown, challenge: string): never => {
  if (error instanceof CredentialRejected) throw unauthenticated(challenge, error.reason, error.message)
  if (error instanceof VerifierUnavailable) throw identityUnavailable(error.reason, error.message)
  throw error
}

/** RFC 7800 §3.1. With both members, both are required. */
interface TokenConfirmation {
  /** SHA-256 of the certificate, in base64url (RFC 8705 §3.1). */
  readonly certificate: string | null
  /** SHA-256 thumbprint of the public key, in base64url (RFC 9449 §6). */
  readonly key: string | null
}

/** Throws or rejects with a GatewayError. Runs for each request: a verified token may be cached, its sender may not. */
type CheckSenderConstraint = (
  exchange: Exchange,
  claims: Claims,
  credential: TokenCredential,
  client: string,
) => void | Promise<void>

/** `key`: thumbprint of the required key. The stored proof counts toward the share of `client`. */
export type CheckDpopProof = (exchange: Exchange, token: string, key: string, client: string) => Promise<void>

/**
 * Rejects an unknown kind of binding, which cannot be checked, and, where `required`, an unbound token. `checkProof`
 * and `algorithms` null: no proofs, so a token bound to a key is rejected.
 */
export const senderConstraint = (
  required: boolean,
  getCertificate: GetClientCertificate,
  checkProof: CheckDpopProof | null,
  algorithms: ProofAlgorithms,
): CheckSenderConstraint => {
  const rejected = (scheme: AuthScheme, reason: ReasonFor<'unauthenticated'>, why: string): GatewayError =>
    unauthenticated(createAuthChallenge(scheme, algorithms, { error: 'invalid_token' }), reason, why)

  return (exchange, claims, { scheme, token }, client) => {
    const confirmation = parseTokenConfirmation(claims)
    if (confirmation === 'unknown')
      throw rejected(scheme, 'wrong-binding', 'the token has an unknown kind of binding (cnf)')
    const { certificate, key } = confirmation ?? noConfirmation
    // RFC 9449 §7.1, §7.2: otherwise a thief would name the other scheme and omit the proof.
    if (key !== null && scheme !== 'dpop' && checkProof !== null)
      throw rejected('dpop', 'wrong-binding', 'the token is bound to a key, but was sent as Bearer')
    if (key === null && scheme === 'dpop')
      throw rejected(scheme, 'wrong-binding', 'the token was sent as DPoP, but is bound to no key')
    if (certificate === null && key === null && required)
      throw rejected(scheme, 'unbound-token', 'the token is bound to no certificate or key')
    if (certificate !== null) {
      const presented = getCertificate(exchange)
      if (presented === null)
        throw rejected(scheme, 'no-certificate', 'the token is bound to a certificate, but the request has none')
      if (presented instanceof CredentialRejected) throw rejected(scheme, presented.reason, presented.message)
      if (!isSameDigest(certificateThumbprint(presented), certificate))
        throw rejected(scheme, 'wrong-binding', 'the token is bound to another certificate')
    }
    if (key === null) return
    if (checkProof === null)
      throw rejected(scheme, 'wrong-binding', 'the token is bound to a key, but proofs are not accepted (auth.dpop)')
    return checkProof(exchange, token, key, client)
  }
}

const noConfirmation: TokenConfirmation = { certificate: null, key: null }

// 256 bits in base64url.
const digestPattern = /^[\w-]{43}$/

/** Null: unbound. `unknown`: unreadable or empty. */
export const parseTokenConfirmation = ({ cnf }: Claims): TokenConfirmation | 'unknown' | null => {
  if (cnf === undefined) return null
  if (typeof cnf !== 'object' || cnf === null || Array.isArray(cnf)) return 'unknown'
  const entries = Object.entries(cnf)
  const isKnown = ([name, value]: readonly [string, unknown]): boolean =>
    (name === 'x5t#S256' || name === 'jkt') && typeof value === 'string' && digestPattern.test(value)
  if (entries.length === 0 || !entries.every(isKnown)) return 'unknown'
  const { 'x5t#S256': certificate = null, jkt: key = null } = cnf as { 'x5t#S256'?: string; jkt?: string }
  return { certificate, key }
}

/** In constant time. */
export const isSameDigest = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1')]
  return a.length === b.length && timingSafeEqual(a, b)
}
