import { shownIn } from './authorization.ts'
import type { Confirm } from './bound.ts'
import type { Claims, ClaimsOf } from './claims.ts'
import type { Clients } from './clients.ts'
import { identityUnavailable, type Method, type Proved, unproved } from './method.ts'
import { challengeOf, Refused, type Scheme, Unavailable } from './refused.ts'

/** Is what is known of the tokens that a method takes. */
export interface TokenTerms {
  readonly name: 'jwt' | 'introspection'
  readonly claimsOf: ClaimsOf
  /** Tells whether a token is one of its kind, where another method takes others. */
  readonly takes: (token: string) => boolean
  readonly clients: Clients
  /** Finds out, of each request, whether it comes from whom the token is bound to. */
  readonly confirm: Confirm
  /** What proofs of possession may be signed with; null: they are not taken. */
  readonly algorithms: readonly string[] | null
}

/** Proves who calls by an access token (RFC 6750), and by what it is bound to (RFC 8705 §3, RFC 9449 §7). */
export const tokenMethod = ({ name, claimsOf, takes, clients, confirm, algorithms }: TokenTerms): Method => {
  const proved = (claims: Claims, scheme: Scheme): Proved => ({
    client: clients.byClaims(claims),
    token: { scheme, claims },
  })
  const schemes: readonly Scheme[] = algorithms === null ? ['bearer'] : ['bearer', 'dpop']
  return {
    name,
    fields: ['authorization', 'dpop'],
    challenge: schemes.map((scheme) => challengeOf(scheme, algorithms)).join(', '),
    applies({ fields }) {
      const shown = shownIn(fields)
      return shown !== null && takes(shown.token)
    },
    prove(exchange) {
      const shown = shownIn(exchange.fields) ?? nothing
      const { scheme, token } = shown
      const confirmed = (claims: Claims): Proved | Promise<Proved> => {
        const known = proved(claims, scheme)
        const asked = confirm(exchange, claims, shown, known.client?.id ?? '')
        return asked instanceof Promise ? asked.then(() => known) : known
      }
      const invalid = (error: unknown): never =>
        fail(error, challengeOf(scheme, algorithms, { error: 'invalid_token' }))
      try {
        const claims = claimsOf(token)
        return claims instanceof Promise ? claims.then(confirmed).catch(invalid) : confirmed(claims)
      } catch (error) {
        return invalid(error)
      }
    },
  }
}

const nothing = { scheme: 'bearer', token: '' } as const

const fail = (error: unknown, challenge: string): never => {
  if (error instanceof Refused) throw unproved(challenge, error.reason, error.message)
  if (error instanceof Unavailable) throw identityUnavailable(error.reason, error.message)
  throw error
}
