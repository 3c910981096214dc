import { wallClock } from '../clock.ts'
import { FailedAttempt, failures, type GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { Outcome } from './outcome.ts'

/** Counts an attempt that failed. */
export type OnFailedAttempt = (attempt: FailedAttempt, exchange: Exchange) => void

/** Tells whether an attempt failed, also where a client that was waited for keeps that from counting against the endpoint. */
export const isFailedAttempt = (outcome: Outcome, why: GatewayError | number): boolean =>
  outcome === 'failure' || (typeof why !== 'number' && failures[why.kind].fault === 'upstream')

/** Notes a failed attempt at its exchange, whatever becomes of that, and has it counted. */
export const noteFailedAttempt = (
  exchange: Exchange,
  endpoint: string,
  why: GatewayError | number,
  onFailure: OnFailedAttempt,
): void => {
  const attempt = new FailedAttempt(endpoint, why, wallClock())
  exchange.failedAttempts ??= []
  exchange.failedAttempts.push(attempt)
  onFailure(attempt, exchange)
}
