import { wallClock } from '../../clock.ts'
import { Refused } from './refused.ts'

/** Is what is said of a token: by itself (RFC 7519 §4), or by its issuer when asked (RFC 7662 §2.2). */
export type Claims = Readonly<Record<string, unknown>>

/** Finds out what a token says. Throws, or rejects with, `Refused` or `Unavailable`. */
export type ClaimsOf = (token: string) => Claims | Promise<Claims>

/** Is what a token must say. */
export interface Expected {
  /** Null: any. */
  readonly issuer: string | null
  /** It must be for one of these. Null: for any. */
  readonly audience: readonly string[] | null
  /** How far the clocks of issuer and gateway may be apart. */
  readonly clockTolerance: number
}

/** Checks who made a token, for whom and for when. Throws {@link Refused}. Gives when it ends, in ms since the epoch; null: it does not say. */
export const checkClaims = (claims: Claims, { issuer, audience, clockTolerance }: Expected): number | null => {
  if (issuer !== null && claims.iss !== issuer) throw new Refused('wrong-issuer', 'it is of another issuer')
  if (audience !== null && !isFor(claims.aud, audience))
    throw new Refused('wrong-audience', 'it is for another audience')
  const at = wallClock()
  const exp = timeOf(claims, 'exp')
  if (exp !== null && at >= exp + clockTolerance) throw new Refused('expired', 'it has expired')
  const begins = timeOf(claims, 'nbf')
  if (begins !== null && at < begins - clockTolerance) throw new Refused('not-yet-valid', 'it is not valid yet')
  const made = timeOf(claims, 'iat')
  if (made !== null && at < made - clockTolerance) throw new Refused('not-yet-valid', 'it was made in the future')
  return exp
}

// RFC 7519 §4.1.3: one, or a list.
const isFor = (aud: unknown, audience: readonly string[]): boolean =>
  (Array.isArray(aud) ? aud : [aud]).some((each) => typeof each === 'string' && audience.includes(each))

/** Reads a time in seconds since the epoch; null: it is not there. A number that JSON can hold may be too large for one: 1e999. */
const timeOf = (claims: Claims, name: string): number | null => {
  if (!Object.hasOwn(claims, name)) return null
  const value = claims[name]
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new Refused('other-token-flaw', `${name} is not a time`)
  return value * 1000
}
