/**
 * The error that a change is in effect nowhere, because workers have not replied in time. Its message names them, and
 * may be shown to operators.
 */
export class WorkersNotAnsweringError extends Error {
  override readonly name = 'WorkersNotAnsweringError'
}

/** What an operator is told beside the message of an edit that is held back. */
export const heldBackHint = 'it is in effect in no worker, and is tried again while the file says so'

/** What an operator is told beside the message of any other change. */
export const notAnsweringHint =
  'it is in effect in no worker, and is not tried again; ask again when they answer, or are replaced'
