/** The schemes that a token may come with, in lower case (RFC 6750 §2.1, RFC 9449 §7.1). */
export type AuthScheme = 'bearer' | 'dpop'

/** What is wrong with a presented token. */
interface ChallengeError {
  readonly error: 'invalid_token' | 'invalid_dpop_proof' | 'insufficient_scope'
  /** The scopes that the operation requires, all of them. */
  readonly scopes?: readonly string[]
}

/**
 * Writes the challenge of `WWW-Authenticate`: RFC 6750 §3, RFC 9449 §7.1. `algorithms` are those that proofs may be
 * signed with; null: the gateway takes no proofs. A client that presented nothing gets no error parameter.
 */
export const createAuthChallenge = (
  scheme: AuthScheme,
  algorithms: readonly string[] | null,
  failure?: ChallengeError,
): string => {
  const algs = scheme === 'dpop' ? algorithms : null
  const params = [
    'realm="lender-gateway"',
    failure && `error="${failure.error}"`,
    failure?.scopes && `scope="${failure.scopes.join(' ')}"`,
    algs && `algs="${algs.join(' ')}"`,
  ]
  return `${schemeNames[scheme]} ${params.filter((each) => typeof each === 'string').join(', ')}`
}

const schemeNames: Readonly<Record<AuthScheme, string>> = { bearer: 'Bearer', dpop: 'DPoP' }
