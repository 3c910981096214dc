import type { Authenticator, AuthResult } from '../auth.ts'
import type { ClientRegistry } from '../client-registry.ts'
import {
  type AuthScheme,
  CredentialRejected,
  createAuthChallenge,
  identityUnavailable,
  unauthenticated,
  VerifierUnavailable,
} from '../errors.ts'
import type { CheckSenderConstraint } from './sender-constraint.ts'
import type { Claims, GetClaims } from './token.ts'
import { parseTokenCredential } from './token.ts'

export interface TokenAuthenticatorOptions {
  readonly name: 'jwt' | 'introspection'
  readonly getClaims: GetClaims
  readonly accepts: (token: string) => boolean
  readonly clients: ClientRegistry
  readonly checkSenderConstraint: CheckSenderConstraint
  /** The names, in lower case, of the fields in which the certificate comes that a token may be bound to. */
  readonly certificateFields: readonly string[]
  /** The algorithms that proofs of possession may be signed with; null: the gateway takes no proofs. */
  readonly algorithms: readonly string[] | null
}

/** Authenticates a client by an access token (RFC 6750), and by what it is bound to (RFC 8705 §3, RFC 9449 §7). */
export const tokenAuthenticator = ({
  name,
  getClaims,
  accepts,
  clients,
  checkSenderConstraint,
  certificateFields,
  algorithms,
}: TokenAuthenticatorOptions): Authenticator => {
  const schemes: readonly AuthScheme[] = algorithms === null ? ['bearer'] : ['bearer', 'dpop']
  return {
    name,
    fields: ['authorization', 'dpop', ...certificateFields],
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
