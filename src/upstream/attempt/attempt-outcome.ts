import { epochMs } from '../../clock.ts'
import type { Exchange } from '../../exchange.ts'
import { FailedAttempt, type GatewayError } from '../../failures/errors.ts'
import { failureTable } from '../../failures/kinds.ts'

/** Is what a request tells of the endpoint that had it: nothing, when it was the client or the gateway that ended it. */
export type AttemptOutcome = 'success' | 'failure' | 'nothing'

/** Judges an answer by its status (RFC 9110 §15.6): whatever the endpoint says of itself, its own errors are failures. */
export const classifyStatus = (status: number): AttemptOutcome => (status >= 500 ? 'failure' : 'success')

/**
 * Judges a failure: a client that left, a request over its bounds and the gateway's own faults tell nothing of the endpoint. Nor does one
 * that gave up an upload whose client was the one waited for: whoever is slow enough could have every endpoint taken out. A deadline tells
 * something when the attempt had the whole of it to itself: with one below the timeouts nothing else would ever tell that an endpoint
 * hangs.
 */
export const classifyFailure = (
  { kind }: GatewayError,
  { attempts, waitsForClient }: Pick<Exchange, 'attempts' | 'waitsForClient'>,
): AttemptOutcome => {
  if (waitsForClient) return 'nothing'
  return failureTable[kind].fault === 'upstream' || (kind === 'deadline-exceeded' && attempts === 1)
    ? 'failure'
    : 'nothing'
}

/** Counts an attempt that failed. */
export type OnFailedAttempt = (attempt: FailedAttempt, exchange: Exchange) => void

/**
 * Notes an attempt at its exchange if it failed, whatever becomes of that, and has it counted: also where a client that
 * was waited for keeps that from counting against the endpoint.
 */
export const recordIfFailed = (
  exchange: Exchange,
  endpoint: string,
  outcome: AttemptOutcome,
  errorOrStatus: GatewayError | number,
  onFailure: OnFailedAttempt,
): void => {
  if (
    outcome !== 'failure' &&
    (typeof errorOrStatus === 'number' || failureTable[errorOrStatus.kind].fault !== 'upstream')
  )
    return
  const attempt = new FailedAttempt(endpoint, errorOrStatus, epochMs())
  exchange.failedAttempts ??= []
  exchange.failedAttempts.push(attempt)
  onFailure(attempt, exchange)
}
