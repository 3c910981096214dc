import { StacklessError } from '../../failures/errors.ts'
import type { ReasonOf } from '../../failures/reasons.ts'

/** Is why a credential proves nothing: for operators alone, in words that hold nothing of the credential but names of its form. */
export class Refused extends StacklessError {
  override readonly name = 'Refused'
  readonly reason: ReasonOf<'unauthenticated'>

  constructor(reason: ReasonOf<'unauthenticated'>, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Is why it cannot be found out whether a credential is good: the server that knows cannot be asked. */
export class Unavailable extends StacklessError {
  override readonly name = 'Unavailable'
  readonly reason: ReasonOf<'identity-unavailable'>

  constructor(reason: ReasonOf<'identity-unavailable'>, message: string) {
    super(message)
    this.reason = reason
  }
}
