/**
 * The error that a change is in effect nowhere, because workers have not replied in time. Its message names them, and
 * may be shown to operators.
 */
export class WorkersNotAnsweringError extends Error {
  override readonly name = 'WorkersNotAnsweringError'
}
