import type { Exchange } from '../../exchange/exchange.ts'
import { FailedAttempt, type GatewayError } from '../../exchange/failures/errors.ts'
import { failureTable } from '../../exchange/failures/kinds.ts'
import type { FailureReason } from '../../exchange/failures/reasons.ts'
import { epochMs } from '../../lib/clock.ts'

/** What a request says about its endpoint: `nothing` when the client or the gateway ended it. */
export type AttemptOutcome = 'success' | 'failure' | 'nothing'

/** Classifies a response by its status (RFC 9110 §15.6): an endpoint's own errors are failures. */
export const classifyStatus = (status: number): AttemptOutcome => (status >= 500 ? 'failure' : 'success')

// Endpoints wait for longer before they give a client up.
const minHeldBackMs = 1000

// No connection could be made, whatever the endpoint.
const ownLacks: ReadonlySet<FailureReason | null> = new Set(['no-descriptors', 'no-ports'] as const)

/**
 * Classifies a failure. A client that left, a request over its limits and the gateway's own faults say nothing about
 * the endpoint. Nor does an attempt that was given up in the queue, nor one that gave up an upload while it waited for
 * the client: a slow client could have every endpoint ejected. Nor does a response that the gateway held back for its
 * reader, for a second in all (`heldBackMs`), before its connection ended. A deadline counts when the attempt had all
 * of it to itself: where the deadline is shorter than the timeouts, nothing else would ever show that an endpoint
 * hangs.
 */
export const classifyFailure = (
  { kind, reason }: GatewayError,
  { attempts, endedInQueue, waitsForClient }: Pick<Exchange, 'attempts' | 'endedInQueue' | 'waitsForClient'>,
  heldBackMs = 0,
): AttemptOutcome => {
  const wasCutOff = kind === 'truncated' && (reason === 'reset' || reason === 'closed')
  if (endedInQueue || waitsForClient || ownLacks.has(reason) || (wasCutOff && heldBackMs >= minHeldBackMs))
    return 'nothing'
  return failureTable[kind].fault === 'upstream' || (kind === 'deadline-exceeded' && attempts.count === 1)
    ? 'failure'
    : 'nothing'
}

export type OnFailedAttempt = (attempt: FailedAttempt, exchange: Exchange) => void

/**
 * Records an attempt at its exchange if it failed, whatever becomes of the exchange, and has it counted. It is counted
 * too where a wait for the client keeps it from counting against the endpoint.
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
  exchange.attempts.failed ??= []
  exchange.attempts.failed.push(attempt)
  onFailure(attempt, exchange)
}
