import type { Exchange, Handler } from '../../../core/exchange/exchange.ts'
import { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { type FailureKind, failureTable } from '../../../core/exchange/failures/kinds.ts'
import { now } from '../../../core/lib/clock.ts'
import type { Upstream } from '../../../core/upstream/upstream.ts'
import type { CandidateUse } from '../candidate-clients.ts'
import type { CandidateConfig } from '../config/candidate.ts'

export interface SplitSides {
  readonly primary: Handler
  readonly candidate: Handler
  /** Whether the primary serves requests that could not be sent to the candidate. */
  readonly fallback: boolean
  candidateIsUp(): boolean
}

/**
 * Sends each exchange to its side. A request that could not be sent to the candidate at all goes to the primary, as
 * `failover` goes to another endpoint; so does a request that would only try endpoints that are down. An exchange of
 * the primary never goes to the candidate.
 */
export const splitSend = ({ primary, candidate, fallback, candidateIsUp }: SplitSides): Handler => {
  if (!fallback) return (exchange) => (exchange.side === 'candidate' ? candidate(exchange) : primary(exchange))
  const fallBack: Handler = (exchange) => {
    exchange.attempts.fellBack = true
    return primary(exchange)
  }
  return (exchange) => {
    if (exchange.servingSide !== 'candidate') return primary(exchange)
    if (!candidateIsUp() && mayLeave(exchange)) return fallBack(exchange)
    return candidate(exchange).catch((error) => {
      if (exchange.aborted === null && isUnsent(exchange, error)) return fallBack(exchange)
      throw error
    })
  }
}

/** Whether the primary may serve the request without a risk that both sides process it. */
const mayLeave = ({ operation, attempts }: Exchange): boolean => operation.method === 'GET' || !attempts.wasSent

const isUnsent = (exchange: Exchange, error: unknown): boolean => {
  if (!(error instanceof GatewayError)) return false
  if (failureTable[error.kind].retry !== 'always' && !hasNoPlace(error)) return false
  // With an idempotency key, a POST may be tried twice: the candidate may have processed the first attempt.
  return mayLeave(exchange)
}

// The candidate has no endpoint for the request.
const unsentKinds: ReadonlySet<FailureKind> = new Set<FailureKind>(['no-healthy-endpoint', 'circuit-open'])

/** No endpoint, no connection, or an open breaker. */
const hasNoPlace = ({ kind, reason }: GatewayError): boolean =>
  // The response to a sent request can be `overloaded` too, so the reason decides.
  unsentKinds.has(kind) || (kind === 'overloaded' && (reason === 'endpoint-connections' || reason === 'endpoint-share'))

/** The innermost handler of a group: both sides while a candidate is in use, else its upstream. */
export const createSend = (
  upstream: Upstream,
  candidate: Upstream | null,
  config: CandidateConfig | null,
  use: CandidateUse | null,
): Handler =>
  candidate === null || config === null || use === null
    ? upstream.send
    : splitSend({
        primary: upstream.send,
        candidate: candidate.send,
        fallback: config.fallback,
        candidateIsUp: () => {
          const at = now()
          return candidate.members.some(
            ({ takesRequests, health }) => takesRequests && !health.isDown && !health.isEjected(at),
          )
        },
      })
