import { StacklessError } from '../../core/exchange/failures/errors.ts'
import type { FailureReason, ReasonFor } from '../../core/exchange/failures/reasons.ts'

class ErrorWithReason<Why extends FailureReason> extends StacklessError {
  readonly reason: Why

  constructor(reason: Why, message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * The reason why a credential proves nothing: for operators alone, in words that hold nothing of the credential but
 * names of its form.
 */
export class CredentialRejected extends ErrorWithReason<ReasonFor<'unauthenticated'>> {
  override readonly name = 'CredentialRejected'
}

/** The reason why a credential cannot be verified: the server that knows is unavailable. */
export class VerifierUnavailable extends ErrorWithReason<ReasonFor<'identity-unavailable'>> {
  override readonly name = 'VerifierUnavailable'
}
