import type { Exchange } from '../../core/exchange/exchange.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import type { AuthMethod } from '../../core/exchange/failures/reason-rows.ts'
import type { ReasonFor } from '../../core/exchange/failures/reasons.ts'
import { fieldNameEquals, type HeaderFields } from '../../core/exchange/header-fields.ts'
import type { AuthScheme } from './auth-challenge.ts'
import type { RegisteredClient } from './client-registry.ts'
import type { Claims } from './tokens/claims.ts'

export interface Authenticator {
  readonly name: AuthMethod
  /** The names, in lower case, of the fields that hold its credentials. */
  readonly fields: readonly string[]
  /** The `WWW-Authenticate` challenge for a request without a credential (RFC 9110 §11.6.1). */
  readonly challenge: string
  /** Tells whether the request carries its credential. If so, this authenticator decides, for better or worse. */
  applies(exchange: Exchange): boolean
  /**
   * Finds the client of the credential. Throws, or rejects with, a GatewayError: `unauthenticated` for a credential
   * that proves nothing, `bad-request` for one that cannot be meant, `identity-unavailable` where the verifier cannot
   * tell just now.
   */
  authenticate(exchange: Exchange): AuthResult | Promise<AuthResult>
}

export interface AuthResult {
  /** Null: the credential is good, but belongs to no configured client. */
  readonly client: RegisteredClient | null
  /** Null: the credential is no token, and has no scopes either. */
  readonly token: VerifiedToken | null
  /** The id of the key that proved it. Left out: the method has none. */
  readonly keyId?: string
}

export interface VerifiedToken {
  /** The scheme that it came with: a challenge about what it lacks names the same scheme. */
  readonly scheme: AuthScheme
  readonly claims: Claims
}

/** `reason` and `why` are for operators; the client only sees `challenge`. */
export const unauthenticated = (challenge: string, reason: ReasonFor<'unauthenticated'>, why: string): GatewayError =>
  new GatewayError('unauthenticated', { reason, cause: why, fields: ['WWW-Authenticate', challenge] })

export const identityUnavailable = (reason: ReasonFor<'identity-unavailable'>, why: string): GatewayError =>
  new GatewayError('identity-unavailable', { reason, cause: why, fields: ['Retry-After', '1'] })

export const malformedCredential = (reason: ReasonFor<'bad-request'>, why: string): GatewayError =>
  new GatewayError('bad-request', { reason, cause: why })

/**
 * Returns the value of a field; null: there is none. Throws where there are several, because it is unknown which one is
 * meant. `lower` is the name in lower case.
 */
export const singleFieldValue = (fields: HeaderFields, lower: string): string | null => {
  let found: string | null = null
  for (let i = 0; i < fields.length; i += 2) {
    if (!fieldNameEquals(fields[i] as string, lower)) continue
    if (found !== null) throw malformedCredential('several-credentials', `several ${lower} fields`)
    found = fields[i + 1] as string
  }
  return found
}
