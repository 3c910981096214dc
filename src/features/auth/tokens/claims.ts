import { epochMs } from '../../../core/lib/clock.ts'
import { CredentialRejected } from '../errors.ts'

/** Of a JWT (RFC 7519 §4) or an introspection response (RFC 7662 §2.2). */
export type Claims = Readonly<Record<string, unknown>>

/** Throws or rejects with {@link CredentialRejected} or `VerifierUnavailable`. */
export type GetClaims = (token: string) => Claims | Promise<Claims>

export interface ClaimExpectations {
  /** Null: any. */
  readonly issuer: string | null
  /** The token must name one of these. Null: any. */
  readonly audience: readonly string[] | null
  /** Milliseconds between the clocks of issuer and gateway. */
  readonly clockTolerance: number
}

/** Throws {@link CredentialRejected}. Returns the expiry in milliseconds since the epoch; null: none. */
export const checkClaims = (claims: Claims, { issuer, audience, clockTolerance }: ClaimExpectations): number | null => {
  if (issuer !== null && claims.iss !== issuer) throw new CredentialRejected('wrong-issuer', 'it is of another issuer')
  if (audience !== null && !isForAudience(claims.aud, audience))
    throw new CredentialRejected('wrong-audience', 'it is for another audience')
  const at = epochMs()
  const expiresAt = readNumericDate(claims, 'exp')
  if (expiresAt !== null && at >= expiresAt + clockTolerance) throw new CredentialRejected('expired', 'it has expired')
  const notBefore = readNumericDate(claims, 'nbf')
  if (notBefore !== null && at < notBefore - clockTolerance)
    throw new CredentialRejected('not-yet-valid', 'it is not valid yet')
  const issuedAt = readNumericDate(claims, 'iat')
  if (issuedAt !== null && at < issuedAt - clockTolerance)
    throw new CredentialRejected('not-yet-valid', 'it was made in the future')
  return expiresAt
}

// RFC 7519 §4.1.3: a text or a list.
const isForAudience = (aud: unknown, audience: readonly string[]): boolean =>
  (Array.isArray(aud) ? aud : [aud]).some((each) => typeof each === 'string' && audience.includes(each))

/** Milliseconds since the epoch. JSON can hold a number that is no time: 1e999. */
const readNumericDate = (claims: Claims, name: string): number | null => {
  if (!Object.hasOwn(claims, name)) return null
  const value = claims[name]
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new CredentialRejected('other-token-flaw', `${name} is not a time`)
  return value * 1000
}

/** `scope` (RFC 8693 §4.2), or `scp` of Entra ID and Okta: a text with blanks, or a list. */
export const parseScopes = ({ scope, scp }: Claims): readonly unknown[] => {
  const granted = scope === undefined ? scp : scope
  if (typeof granted === 'string') return granted.split(' ')
  return Array.isArray(granted) ? granted : []
}
