import { StacklessError } from '../../errors.ts'

/** Is why a credential proves nothing: for the log alone, in words that hold nothing of the credential. */
export class Refused extends StacklessError {
  override readonly name = 'Refused'
}

/** Is why it cannot be found out whether a credential is good: the server that knows cannot be asked. */
export class Unavailable extends StacklessError {
  override readonly name = 'Unavailable'
}
