import { StacklessError } from '../../failures/errors.ts'
import type { Reason, ReasonOf } from '../../failures/reasons.ts'

/** An error with a reason, in a bounded word. */
class ErrorWithReason<Why extends Reason> extends StacklessError {
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
export class Refused extends ErrorWithReason<ReasonOf<'unauthenticated'>> {
  override readonly name = 'Refused'
}

/** Says why it cannot be found out whether a credential is good: the server that knows cannot be asked. */
export class Unavailable extends ErrorWithReason<ReasonOf<'identity-unavailable'>> {
  override readonly name = 'Unavailable'
}

/** Names the schemes that a token may come with, in lower case (RFC 6750 §2.1, RFC 9449 §7.1). */
export type Scheme = 'bearer' | 'dpop'

/** Is what was wrong with what was shown. */
interface Fault {
  readonly error: 'invalid_token' | 'invalid_dpop_proof' | 'insufficient_scope'
  /** Which scopes are needed: all of these. */
  readonly scopes?: readonly string[]
}

/**
 * Writes what `WWW-Authenticate` asks for: RFC 6750 §3, RFC 9449 §7.1. `algorithms` are those that proofs may be signed with; null: none are
 * taken. Whoever has shown nothing is told of no error.
 */
export const challengeOf = (scheme: Scheme, algorithms: readonly string[] | null, fault?: Fault): string => {
  const algs = scheme === 'dpop' ? algorithms : null
  const said = [
    'realm="lender-gateway"',
    fault && `error="${fault.error}"`,
    fault?.scopes && `scope="${fault.scopes.join(' ')}"`,
    algs && `algs="${algs.join(' ')}"`,
  ]
  return `${names[scheme]} ${said.filter((each) => typeof each === 'string').join(', ')}`
}

const names: Readonly<Record<Scheme, string>> = { bearer: 'Bearer', dpop: 'DPoP' }
