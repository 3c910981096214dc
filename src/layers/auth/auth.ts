import type { Exchange, Handler, Layer, ProxyResponse } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import type { ReasonFor } from '../../failures/reasons.ts'
import { foldUnderscores, type HeaderFields } from '../../header-fields.ts'
import type { Authenticator, AuthResult, VerifiedToken } from './authenticator.ts'
import type { Claims } from './claims.ts'
import { type AuthScheme, createAuthChallenge } from './errors.ts'
import { parseTokenCredential, rejectTokenInQuery } from './token-credential.ts'

/** Is what holds for whoever comes to an operation. */
export interface AuthOptions {
  /** In order: the first whose credential a request carries decides. */
  readonly authenticators: readonly Authenticator[]
  /** Whether the credentials go on to the upstream. */
  readonly forwardsCredentials: boolean
  /** The field that tells the upstream who it is; null: nothing does. */
  readonly identityField: string | null
  readonly required: TokenRequirements
  /** What proofs of possession may be signed with; null: they are not taken. */
  readonly algorithms: readonly string[] | null
}

/**
 * Lets in whoever proves who it is and may call the operation. Nobody else gets further, and nothing of theirs costs more than the proof. The
 * client learns whether it is known (401) and whether it may (403), and never why not: that is in the log.
 */
export const authLayer = ({
  authenticators,
  forwardsCredentials,
  identityField,
  required,
  algorithms,
}: AuthOptions): Layer => {
  const distinctChallenges = new Set(authenticators.map(({ challenge }) => challenge))
  const challenges = [...distinctChallenges].flatMap((challenge) => ['WWW-Authenticate', challenge])
  const takesTokens = authenticators.some(({ fields }) => fields.includes('authorization'))
  const authorizeToken = createTokenAuthorizer(required, algorithms)
  const filterCredentials = createCredentialFilter(
    authenticators.flatMap(({ fields }) => fields),
    forwardsCredentials,
    identityField,
  )

  const missingCredential = (): GatewayError =>
    new GatewayError('unauthenticated', { reason: 'no-credential', cause: 'no credential', fields: challenges })

  const authorize = (
    exchange: Exchange,
    authenticator: Authenticator,
    { client, token }: AuthResult,
    next: Handler,
  ): Promise<ProxyResponse> => {
    if (client === null) throw forbidden('unknown-client', 'the credential is good, and belongs to no client')
    exchange.identity = { client: client.id, method: authenticator.name }
    if (client.disabled) throw forbidden('client-disabled', 'the client is disabled')
    if (!client.mayCallFrom(exchange.client)) throw forbidden('wrong-address', 'not from this address')
    if (!client.mayCall(exchange.operation.id)) throw forbidden('wrong-operation', 'not this operation')
    authorizeToken?.(token)
    exchange.fields = filterCredentials(exchange.fields, client.id)
    return next(exchange)
  }

  return (next) => async (exchange) => {
    rejectTokenInQuery(exchange.query)
    // Two of them are refused also where another credential would decide: an upstream may get them, and take the other one.
    if (takesTokens) parseTokenCredential(exchange.fields)
    const authenticator = authenticators.find((each) => each.applies(exchange))
    if (authenticator === undefined) throw missingCredential()
    exchange.attemptedAuth = authenticator.name
    return authorize(exchange, authenticator, await authenticator.authenticate(exchange), next)
  }
}

const forbidden = (reason: ReasonFor<'forbidden'>, why: string): GatewayError =>
  new GatewayError('forbidden', { reason, cause: why })

/**
 * Makes what the fields of a request become for its upstream: without the credentials, unless they are forwarded, and with who it is.
 * `credentials` are the names, in lower case, of the fields that were looked at. What a back end may read as one of them, and nobody has looked
 * at, never goes on.
 */
const createCredentialFilter = (
  credentials: readonly string[],
  forwardsCredentials: boolean,
  identityField: string | null,
): ((fields: HeaderFields, client: string) => HeaderFields) => {
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

/** Is what a token must bring for one operation, beside being good. */
interface TokenRequirements {
  /** All of these: RFC 6749 §3.3. */
  readonly scopes: readonly string[]
  /** All of this, to the letter. */
  readonly claims: Readonly<Record<string, string>>
}

/**
 * Makes what checks that a token is good for one operation; null: whoever is let in may call it. What is no token says nothing. `algorithms`
 * are those that proofs of possession may be signed with; null: they are not taken.
 */
export const createTokenAuthorizer = (
  { scopes, claims: requiredClaims }: TokenRequirements,
  algorithms: readonly string[] | null,
): ((token: VerifiedToken | null) => void) | null => {
  const claimEntries = Object.entries(requiredClaims)
  if (scopes.length === 0 && claimEntries.length === 0) return null
  // RFC 6750 §3.1: what is missing may be told, because everybody may know what an operation asks for.
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
      throw new GatewayError('forbidden', { reason: 'missing-claim', cause: 'the token does not say what it must' })
  }
}

/** Reads the scopes of a token: one text with blanks between them, or a list as some issuers have it. */
const parseScopes = ({ scope }: Claims): readonly unknown[] => {
  if (typeof scope === 'string') return scope.split(' ')
  return Array.isArray(scope) ? scope : []
}

/**
 * Removes what clients send in the field that tells upstreams who calls: whoever could write it would be anybody. For every operation,
 * those included that ask nobody who it is.
 */
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
