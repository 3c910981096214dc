/** Names the schemes that a token may come with, in lower case (RFC 6750 §2.1, RFC 9449 §7.1). */
export type Scheme = 'bearer' | 'dpop'

/**
 * Writes what `WWW-Authenticate` asks for: RFC 6750 §3, RFC 9449 §7.1. `algorithms` are those that proofs may be signed with; null: none are
 * taken. Whoever has shown nothing is told of no error.
 */
export const challengeOf = (scheme: Scheme, algorithms: readonly string[] | null, error?: string): string => {
  const told = error === undefined ? '' : `, error="${error}"`
  if (scheme === 'bearer') return `Bearer realm="lender-gateway"${told}`
  return `DPoP realm="lender-gateway"${told}${algorithms === null ? '' : `, algs="${algorithms.join(' ')}"`}`
}
