import type { Exchange } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { AuthMethod, ReasonFor } from '../../failures/reasons.ts'
import { fieldNameEquals, type HeaderFields } from '../../header-fields.ts'
import type { Claims } from './claims.ts'
import type { RegisteredClient } from './client-registry.ts'
import type { AuthScheme } from './errors.ts'

/** Is one way to prove who calls. */
export interface Authenticator {
  readonly name: AuthMethod
  /** The names, in lower case, of the fields that its credentials stand in. */
  readonly fields: readonly string[]
  /** What it asks for in `WWW-Authenticate` of whoever shows nothing (RFC 9110 §11.6.1). */
  readonly challenge: string
  /** Tells whether the request carries its credential: then it decides, for better or worse. */
  applies(exchange: Exchange): boolean
  /**
   * Finds out whose it is. Throws, or rejects with, a GatewayError: `unauthenticated` for what proves nothing, `bad-request` for what cannot
   * be meant, `identity-unavailable` where it cannot be told just now.
   */
  authenticate(exchange: Exchange): AuthResult | Promise<AuthResult>
}

/** Is what a credential has proved. */
export interface AuthResult {
  /** Null: it is good, but nobody's that is configured. */
  readonly client: RegisteredClient | null
  /** Null: it is no token, and has no scopes either. */
  readonly token: VerifiedToken | null
}

/** Is a token that is good. */
export interface VerifiedToken {
  /** What it came with: whoever has to be told of what it lacks is told in the same scheme. */
  readonly scheme: AuthScheme
  readonly claims: Claims
}

/** Makes the failure of a credential that proves nothing. `reason` and `why` are for operators; the client is told what `challenge` says. */
export const unauthenticated = (challenge: string, reason: ReasonFor<'unauthenticated'>, why: string): GatewayError =>
  new GatewayError('unauthenticated', { reason, cause: why, fields: ['WWW-Authenticate', challenge] })

/** Makes the failure of a credential of which it cannot be told just now what it proves. */
export const identityUnavailable = (reason: ReasonFor<'identity-unavailable'>, why: string): GatewayError =>
  new GatewayError('identity-unavailable', { reason, cause: why, fields: ['Retry-After', '1'] })

/** Makes the failure of a credential that cannot be meant, such as two of them. */
export const malformedCredential = (reason: ReasonFor<'bad-request'>, why: string): GatewayError =>
  new GatewayError('bad-request', { reason, cause: why })

/** Finds the value of a field; null: there is none. Throws where there are several, because nobody knows which is meant. `lower` is in lower case. */
export const singleFieldValue = (fields: HeaderFields, lower: string): string | null => {
  let found: string | null = null
  for (let i = 0; i < fields.length; i += 2) {
    if (!fieldNameEquals(fields[i] as string, lower)) continue
    if (found !== null) throw malformedCredential('several-credentials', `several ${lower} fields`)
    found = fields[i + 1] as string
  }
  return found
}
