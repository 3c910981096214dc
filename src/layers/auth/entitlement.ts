import { GatewayError } from '../../errors.ts'
import type { Claims } from './claims.ts'

/** Is what a token must bring for one operation, beside being good. */
export interface Required {
  /** All of these: RFC 6749 §3.3. */
  readonly scopes: readonly string[]
  /** All of this, to the letter. */
  readonly claims: Readonly<Record<string, string>>
}

/** Makes what checks that a token is good for one operation; null: whoever is let in may call it. What is no token says nothing. */
export const entitlement = ({ scopes, claims: wanted }: Required): ((claims: Claims | null) => void) | null => {
  const said = Object.entries(wanted)
  if (scopes.length === 0 && said.length === 0) return null
  // RFC 6750 §3.1: what is missing may be told, because everybody may know what an operation asks for.
  const challenge = `Bearer realm="lender-gateway", error="insufficient_scope", scope="${scopes.join(' ')}"`
  return (claims) => {
    const has = scopesOf(claims)
    if (!scopes.every((scope) => has.includes(scope)))
      throw new GatewayError('forbidden', { cause: 'the token lacks a scope', fields: ['WWW-Authenticate', challenge] })
    if (!said.every(([name, value]) => claims !== null && Object.hasOwn(claims, name) && claims[name] === value))
      throw new GatewayError('forbidden', { cause: 'the token does not say what it must' })
  }
}

/** Reads the scopes of a token: one text with blanks between them, or a list as some issuers have it. */
const scopesOf = (claims: Claims | null): readonly unknown[] => {
  const scope = claims?.scope
  if (typeof scope === 'string') return scope.split(' ')
  return Array.isArray(scope) ? scope : []
}
