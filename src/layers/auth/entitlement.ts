import { GatewayError } from '../../failures/errors.ts'
import { challengeOf, type Scheme } from './challenge.ts'
import type { Claims } from './claims.ts'
import type { ProvedToken } from './method.ts'

/** Is what a token must bring for one operation, beside being good. */
export interface Required {
  /** All of these: RFC 6749 §3.3. */
  readonly scopes: readonly string[]
  /** All of this, to the letter. */
  readonly claims: Readonly<Record<string, string>>
}

/**
 * Makes what checks that a token is good for one operation; null: whoever is let in may call it. What is no token says nothing. `algorithms`
 * are those that proofs of possession may be signed with; null: they are not taken.
 */
export const entitlement = (
  { scopes, claims: wanted }: Required,
  algorithms: readonly string[] | null,
): ((token: ProvedToken | null) => void) | null => {
  const said = Object.entries(wanted)
  if (scopes.length === 0 && said.length === 0) return null
  // RFC 6750 §3.1: what is missing may be told, because everybody may know what an operation asks for.
  const challenge = (scheme: Scheme): string => challengeOf(scheme, algorithms, { error: 'insufficient_scope', scopes })
  const challenges = { bearer: challenge('bearer'), dpop: challenge('dpop') }
  return (token) => {
    const claims = token?.claims ?? {}
    const has = scopesOf(claims)
    if (!scopes.every((scope) => has.includes(scope)))
      throw new GatewayError('forbidden', {
        reason: 'missing-scope',
        cause: 'the token lacks a scope',
        fields: ['WWW-Authenticate', challenges[token?.scheme ?? 'bearer']],
      })
    if (!said.every(([name, value]) => Object.hasOwn(claims, name) && claims[name] === value))
      throw new GatewayError('forbidden', { reason: 'missing-claim', cause: 'the token does not say what it must' })
  }
}

/** Reads the scopes of a token: one text with blanks between them, or a list as some issuers have it. */
const scopesOf = ({ scope }: Claims): readonly unknown[] => {
  if (typeof scope === 'string') return scope.split(' ')
  return Array.isArray(scope) ? scope : []
}
