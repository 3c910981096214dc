import { StacklessError } from '../../failures/errors.ts'
import type { FailureReason, ReasonFor } from '../../failures/reasons.ts'

/** An error with a reason, in a bounded word. */
class ErrorWithReason<Why extends FailureReason> extends StacklessError {
  readonly reason: Why

  constructor(reason: Why, message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * Says why a credential proves nothing: for operators alone, in words that hold nothing of the credential but names of
 * its form.
 */
export class CredentialRejected extends ErrorWithReason<ReasonFor<'unauthenticated'>> {
  override readonly name = 'CredentialRejected'
}

/** Says why it cannot be found out whether a credential is good: the server that knows cannot be asked. */
export class VerifierUnavailable extends ErrorWithReason<ReasonFor<'identity-unavailable'>> {
  override readonly name = 'VerifierUnavailable'
}

/** Names the schemes that a token may come with, in lower case (RFC 6750 §2.1, RFC 9449 §7.1). */
export type AuthScheme = 'bearer' | 'dpop'

/** Is what was wrong with what was shown. */
interface ChallengeError {
  readonly error: 'invalid_token' | 'invalid_dpop_proof' | 'insufficient_scope'
  /** Which scopes are needed: all of these. */
  readonly scopes?: readonly string[]
}

/**
 * Writes what `WWW-Authenticate` asks for: RFC 6750 §3, RFC 9449 §7.1. `algorithms` are those that proofs may be signed with; null: none are
 * taken. Whoever has shown nothing is told of no error.
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
