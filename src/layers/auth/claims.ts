import { epochMs } from '../../clock.ts'
import { CredentialRejected } from './errors.ts'

/** Is what is said of a token: by itself (RFC 7519 §4), or by its issuer when asked (RFC 7662 §2.2). */
export type Claims = Readonly<Record<string, unknown>>

/** Finds out what a token says. Throws, or rejects with, `Refused` or `VerifierUnavailable`. */
export type GetClaims = (token: string) => Claims | Promise<Claims>

/** Is what a token must say. */
export interface ClaimExpectations {
  /** Null: any. */
  readonly issuer: string | null
  /** It must be for one of these. Null: for any. */
  readonly audience: readonly string[] | null
  /** How far the clocks of issuer and gateway may be apart. */
  readonly clockTolerance: number
}

/** Checks who made a token, for whom and for when. Throws {@link CredentialRejected}. Gives when it ends, in ms since the epoch; null: it does not say. */
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

// RFC 7519 §4.1.3: one, or a list.
const isForAudience = (aud: unknown, audience: readonly string[]): boolean =>
  (Array.isArray(aud) ? aud : [aud]).some((each) => typeof each === 'string' && audience.includes(each))

/** Reads a time in seconds since the epoch; null: it is not there. A number that JSON can hold may be too large for one: 1e999. */
const readNumericDate = (claims: Claims, name: string): number | null => {
  if (!Object.hasOwn(claims, name)) return null
  const value = claims[name]
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new CredentialRejected('other-token-flaw', `${name} is not a time`)
  return value * 1000
}
