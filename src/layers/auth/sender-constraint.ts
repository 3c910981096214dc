import { timingSafeEqual } from 'node:crypto'
import type { Exchange } from '../../exchange.ts'
import type { GatewayError } from '../../failures/errors.ts'
import type { ReasonFor } from '../../failures/reasons.ts'
import { unauthenticated } from './authenticator.ts'
import { certificateThumbprint, type GetClientCertificate } from './client-certificate.ts'
import { type AuthScheme, CredentialRejected, createAuthChallenge } from './errors.ts'
import type { TokenCredential } from './token-credential.ts'

/** Is what a token says that it is bound to (RFC 7800 §3.1); both: both are asked for. */
export interface TokenConfirmation {
  /** The SHA-256 of a certificate, in base64url (RFC 8705 §3.1). */
  readonly certificate: string | null
  /** The SHA-256 thumbprint of a public key, in base64url (RFC 9449 §6). */
  readonly key: string | null
}

/**
 * Finds out whether whoever sends a token is the one that it was made for. Throws, or rejects with, a GatewayError. Asked for each request:
 * that a token is good may be remembered, but not who sent it.
 */
export type CheckSenderConstraint = (
  exchange: Exchange,
  claims: Readonly<Record<string, unknown>>,
  credential: TokenCredential,
  client: string,
) => void | Promise<void>

/** Checks the proof that somebody holds a key: `key` is its thumbprint, and `client` who takes room for it to be remembered. */
export type CheckDpopProof = (exchange: Exchange, token: string, key: string, client: string) => Promise<void>

export interface SenderConstraintOptions {
  /** Whether tokens that are bound to nothing are refused. */
  readonly required: boolean
  readonly getCertificate: GetClientCertificate
  /** Null: proofs are not taken, so nobody can use a token that is bound to a key. */
  readonly checkProof: CheckDpopProof | null
  /** What proofs may be signed with; null: they are not taken. */
  readonly algorithms: readonly string[] | null
}

/** Enforces whatever a token is bound to. What is not known here is refused: a binding that nobody checks is none. */
export const senderConstraint = ({
  required,
  getCertificate,
  checkProof,
  algorithms,
}: SenderConstraintOptions): CheckSenderConstraint => {
  const rejected = (scheme: AuthScheme, reason: ReasonFor<'unauthenticated'>, why: string): GatewayError =>
    unauthenticated(createAuthChallenge(scheme, algorithms, { error: 'invalid_token' }), reason, why)

  return (exchange, claims, { scheme, token }, client) => {
    const confirmation = parseTokenConfirmation(claims)
    if (confirmation === 'unknown')
      throw rejected(scheme, 'wrong-binding', 'the token is bound to what is not known here')
    const { certificate, key } = confirmation ?? noConfirmation
    // RFC 9449 §7.1, §7.2: or whoever has stolen the token would leave the proof out by naming the other scheme.
    if (key !== null && scheme !== 'dpop')
      throw rejected('dpop', 'wrong-binding', 'the token is bound to a key, and came as Bearer')
    if (key === null && scheme === 'dpop')
      throw rejected(scheme, 'wrong-binding', 'the token came as DPoP, and is bound to no key')
    if (certificate === null && key === null && required)
      throw rejected(scheme, 'unbound-token', 'the token is bound to nothing')
    if (certificate !== null && !isPresented(getCertificate(exchange), certificate))
      throw rejected(scheme, 'wrong-binding', 'the token is bound to another certificate')
    if (key === null) return
    if (checkProof === null)
      throw rejected(scheme, 'wrong-binding', 'the token is bound to a key, and proofs are not taken')
    return checkProof(exchange, token, key, client)
  }
}

const noConfirmation: TokenConfirmation = { certificate: null, key: null }

// 256 bits in base64url.
const digestPattern = /^[\w-]{43}$/

/** Reads what a token is bound to; null: nothing. What is there and cannot be read is unknown, an empty one too. */
export const parseTokenConfirmation = ({
  cnf,
}: Readonly<Record<string, unknown>>): TokenConfirmation | 'unknown' | null => {
  if (cnf === undefined) return null
  if (typeof cnf !== 'object' || cnf === null || Array.isArray(cnf)) return 'unknown'
  const entries = Object.entries(cnf)
  const isKnown = ([name, value]: readonly [string, unknown]): boolean =>
    (name === 'x5t#S256' || name === 'jkt') && typeof value === 'string' && digestPattern.test(value)
  if (entries.length === 0 || !entries.every(isKnown)) return 'unknown'
  const { 'x5t#S256': certificate = null, jkt: key = null } = cnf as { 'x5t#S256'?: string; jkt?: string }
  return { certificate, key }
}

const isPresented = (presented: ReturnType<GetClientCertificate>, wanted: string): boolean =>
  presented !== null &&
  !(presented instanceof CredentialRejected) &&
  isSameDigest(certificateThumbprint(presented), wanted)

/** Compares two digests in base64url, in a time that tells nothing of either. */
export const isSameDigest = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one, 'latin1'), Buffer.from(other, 'latin1')]
  return a.length === b.length && timingSafeEqual(a, b)
}
