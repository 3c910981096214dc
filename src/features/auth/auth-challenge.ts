/** The schemes that a token may come with, in lower case (RFC 6750 §2.1, RFC 9449 §7.1). */
export type AuthScheme = 'bearer' | 'dpop'

interface ChallengeError {
  readonly error: 'invalid_token' | 'invalid_dpop_proof' | 'insufficient_scope'
  readonly scopes?: readonly string[]
}

/**
 * Writes the challenge of `WWW-Authenticate`: RFC 6750 §3, RFC 9449 §7.1. `algorithms` are those that proofs may be
 * signed with; null: the gateway takes no proofs, and asks for Bearer whatever the token came with. A client that
 * presented nothing gets no error parameter.
 */
export const createAuthChallenge = (
  scheme: AuthScheme,
  algorithms: readonly string[] | null,
  failure?: ChallengeError,
): string => {
  const algs = scheme === 'dpop' && algorithms !== null ? `algs="${algorithms.join(' ')}"` : null
  const params = [
    'realm="lender-gateway"',
    failure && `error="${failure.error}"`,
    failure?.scopes && `scope="${failure.scopes.join(' ')}"`,
    algs,
  ]
  return `${algs === null ? 'Bearer' : 'DPoP'} ${params.filter((each) => typeof each === 'string').join(', ')}`
}
