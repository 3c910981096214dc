import { failures, type GatewayError } from '../errors.ts'

/** Is what a request tells of the endpoint that had it: nothing, when it was the client or the gateway that ended it. */
export type Outcome = 'success' | 'failure' | 'nothing'

/** Judges an answer by its status (RFC 9110 §15.6): whatever the endpoint says of itself, its own errors are failures. */
export const outcomeOf = (status: number): Outcome => (status >= 500 ? 'failure' : 'success')

/** Judges a failure: a client that left, a request over its bounds and the gateway's own faults tell nothing of the endpoint. */
export const outcomeOfFailure = ({ kind }: GatewayError): Outcome =>
  failures[kind].fault === 'upstream' ? 'failure' : 'nothing'
