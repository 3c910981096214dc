import type { Exchange, Layer } from '../../core/exchange/exchange.ts'
import { GatewayError, type ReasonFor } from '../../core/exchange/failures/errors.ts'
import type { AuthMethod } from '../../core/exchange/failures/reason-rows.ts'
import { foldUnderscores, type HeaderFields } from '../../core/exchange/header-fields.ts'
import type { RegisteredClient } from './client-registry.ts'
import type { OperationAuthConfig } from './config.ts'
import { type AuthScheme, createAuthChallenge, type ProofAlgorithms } from './errors.ts'
import { type Claims, parseScopes } from './tokens/claims.ts'
import { parseTokenCredential, rejectTokenInQuery } from './tokens/token-credential.ts'

export interface Authenticator {
  readonly name: AuthMethod
  /** In lower case. */
  readonly fields: readonly string[]
  /** RFC 9110 §11.6.1: sent when a request has no credential. */
  readonly challenge: string
  applies(exchange: Exchange): boolean
  /** Throws or rejects: `unauthenticated`, `bad-request` (ambiguous or malformed), `identity-unavailable`. */
  authenticate(exchange: Exchange): AuthResult | Promise<AuthResult>
}

export interface AuthResult {
  /** Null: a valid credential of no configured client. */
  readonly client: RegisteredClient | null
  /** Null: the credential is not a token, so it has no scopes. */
  readonly token: VerifiedToken | null
  readonly keyId?: string
}

export interface VerifiedToken {
  readonly scheme: AuthScheme
  readonly claims: Claims
}

export interface AuthOptions {
  /** The first whose credential is in the request decides. */
  readonly authenticators: readonly Authenticator[]
  readonly forwardsCredentials: boolean
  readonly identityField: string | null
  /** A token needs all scopes (RFC 6749 §3.3), and all claims with exactly these values. */
  readonly required: Pick<OperationAuthConfig, 'scopes' | 'claims'>
  readonly algorithms: ProofAlgorithms
}

/** The response says whether the client is unknown (401) or may not call (403). The reason is in the log alone. */
export const authLayer = (options: AuthOptions): Layer => {
  const { authenticators, required, algorithms } = options
  const distinctChallenges = new Set(authenticators.map(({ challenge }) => challenge))
  const challenges = [...distinctChallenges].flatMap((challenge) => ['WWW-Authenticate', challenge])
  const takesTokens = authenticators.some(({ fields }) => fields.includes('authorization'))
  const authorizeToken = createTokenAuthorizer(required, algorithms)
  const toUpstreamFields = createCredentialFilter(options)

  return (next) => async (exchange) => {
    rejectTokenInQuery(exchange.query)
    // Also when another credential decides: an upstream may read the other `Authorization`.
    if (takesTokens) parseTokenCredential(exchange.fields)
    const authenticator = authenticators.find((each) => each.applies(exchange))
    if (authenticator === undefined)
      throw new GatewayError('unauthenticated', { reason: 'no-credential', cause: 'no credential', fields: challenges })
    const method = authenticator.name
    exchange.attemptedAuth = method
    const { client, token, keyId = null } = await authenticator.authenticate(exchange)
    if (client === null) throw forbidden('unknown-client', 'the credential is valid, but belongs to no client')
    exchange.identity = { client: client.id, method, keyId }
    if (client.disabled) throw forbidden('client-disabled', 'the client is disabled')
    if (!client.mayCallFrom(exchange.client))
      throw forbidden('wrong-address', 'the client may not call from this address')
    if (!client.mayCall(exchange.operation.id))
      throw forbidden('wrong-operation', 'the client may not call this operation')
    authorizeToken?.(token)
    exchange.fields = toUpstreamFields(exchange.fields, client.id)
    return next(exchange)
  }
}

const forbidden = (reason: ReasonFor<'forbidden'>, why: string): GatewayError =>
  new GatewayError('forbidden', { reason, cause: why })

/**
 * Removes credentials unless they are forwarded, and adds the client's id. A field whose name a back end may read as
 * that of a credential (`-` and `_` are alike) is never forwarded unless an authenticator has read it.
 */
export const createCredentialFilter = ({
  authenticators,
  forwardsCredentials,
  identityField,
}: AuthOptions): ((fields: HeaderFields, client: string) => HeaderFields) => {
  const credentials = authenticators.flatMap(({ fields }) => fields)
  const exact = new Set(credentials)
  const folded = new Set(credentials.map(foldUnderscores))
  const lengths = new Set(credentials.map(({ length }) => length))
  const isForwarded = (name: string): boolean =>
    !(lengths.has(name.length) && folded.has(foldUnderscores(name))) ||
    (forwardsCredentials && exact.has(name.toLowerCase()))
  return (fields, client) => {
    const forwarded: string[] = []
    for (let i = 0; i < fields.length; i += 2) {
      const name = fields[i] as string
      if (isForwarded(name)) forwarded.push(name, fields[i + 1] as string)
    }
    if (identityField !== null) forwarded.push(identityField, client)
    return forwarded
  }
}

/** Null: there are no requirements. A credential that is not a token has no claims. */
export const createTokenAuthorizer = (
  { scopes, claims: requiredClaims }: AuthOptions['required'],
  algorithms: ProofAlgorithms,
): ((token: VerifiedToken | null) => void) | null => {
  const claimEntries = Object.entries(requiredClaims)
  if (scopes.length === 0 && claimEntries.length === 0) return null
  // RFC 6750 §3.1: naming the missing scope is allowed; an operation's requirements are no secret.
  const challenge = (scheme: AuthScheme): string =>
    createAuthChallenge(scheme, algorithms, { error: 'insufficient_scope', scopes })
  const challenges = { bearer: challenge('bearer'), dpop: challenge('dpop') }
  return (token) => {
    const claims = token?.claims ?? {}
    const granted = parseScopes(claims)
    if (!scopes.every((scope) => granted.includes(scope)))
      throw new GatewayError('forbidden', {
        reason: 'missing-scope',
        cause: 'the token lacks a scope',
        fields: ['WWW-Authenticate', challenges[token?.scheme ?? 'bearer']],
      })
    if (!claimEntries.every(([name, value]) => Object.hasOwn(claims, name) && claims[name] === value))
      throw new GatewayError('forbidden', { reason: 'missing-claim', cause: 'the token lacks a required claim' })
  }
}

/** Removes the identity field that a client sent, also without `auth`: otherwise it could take any identity. */
export const stripIdentityHeaderLayer = (name: string): Layer => {
  const folded = foldUnderscores(name)
  return (next) => (exchange) => {
    const { fields } = exchange
    for (let i = 0; i < fields.length; i += 2)
      if (foldUnderscores(fields[i] as string) === folded) {
        exchange.fields = fields.filter((_, at) => foldUnderscores(fields[at - (at % 2)] as string) !== folded)
        break
      }
    return next(exchange)
  }
}
