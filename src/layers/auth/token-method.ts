import { GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import { shownIn } from './authorization.ts'
import type { Claims, ClaimsOf } from './claims.ts'
import type { Clients } from './clients.ts'
import { type Method, type Proved, unproved } from './method.ts'
import { Refused, Unavailable } from './refused.ts'

/** Is what is known of the tokens that a method takes. */
export interface TokenTerms {
  readonly name: 'jwt' | 'introspection'
  readonly claimsOf: ClaimsOf
  /** Tells whether a token is one of its kind, where another method takes others. */
  readonly takes: (token: string) => boolean
  readonly clients: Clients
}

/** RFC 6750 §3: whoever shows nothing is told what to show, and nothing else. */
const challenge = 'Bearer realm="lender-gateway"'
const invalid = `${challenge}, error="invalid_token"`

/** Proves who calls by an access token (RFC 6750). */
export const tokenMethod = ({ name, claimsOf, takes, clients }: TokenTerms): Method => {
  const shown = ({ fields }: Exchange): string | null => {
    const { scheme, token } = shownIn(fields) ?? {}
    return token !== undefined && scheme === 'bearer' && takes(token) ? token : null
  }
  const proved = (claims: Claims): Proved => {
    // RFC 7800 §3: it is for whoever can prove that it is theirs, and nobody has been asked.
    if (Object.hasOwn(claims, 'cnf')) throw unproved(invalid, 'the token is bound, and nothing here checks to whom')
    const { sub } = claims
    return { client: clients.byClaims(claims), subject: typeof sub === 'string' ? sub : null, claims }
  }
  return {
    name,
    fields: ['authorization'],
    challenge,
    applies: (exchange) => shown(exchange) !== null,
    prove(exchange) {
      try {
        const claims = claimsOf(shown(exchange) ?? '')
        return claims instanceof Promise ? claims.then(proved).catch(fail) : proved(claims)
      } catch (error) {
        return fail(error)
      }
    },
  }
}

const fail = (error: unknown): never => {
  if (error instanceof Refused) throw unproved(invalid, error.message)
  if (error instanceof Unavailable)
    throw new GatewayError('identity-unavailable', { cause: error.message, fields: ['Retry-After', '1'] })
  throw error
}
