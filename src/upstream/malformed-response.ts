import { StacklessError } from '../failures/errors.ts'
import type { Reason } from '../failures/reasons.ts'

/** A response that HTTP/1.1 does not allow, or that is larger than the bounds. Its message quotes nothing of it. */
export class MalformedResponse extends StacklessError {
  readonly reason: Reason

  constructor(reason: Reason, message: string) {
    super(message)
    this.name = 'MalformedResponse'
    this.reason = reason
  }
}
