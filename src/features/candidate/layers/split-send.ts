import type { Exchange, Handler } from '../../../core/exchange/exchange.ts'
import { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { type FailureKind, failureTable } from '../../../core/exchange/failures/kinds.ts'
import { now } from '../../../core/lib/clock.ts'
import type { Upstream } from '../../../core/upstream/upstream.ts'
import type { CandidateUse } from '../candidate-clients.ts'
import type { CandidateConfig } from '../config/candidate.ts'

/** The two sides of a group, as the innermost handler uses them. */
export interface SplitSides {
  readonly primary: Handler
  readonly candidate: Handler
  /** Whether the primary serves what the candidate could not be sent. */
  readonly fallback: boolean
  candidateIsUp(): boolean
}

/**
 * Sends each exchange to the side that it is on. What could not be sent to the candidate at all goes to the primary,
 * as `failover` goes on to another endpoint: nothing of it has arrived anywhere. So does what would only try endpoints
 * that are down. An exchange of the primary never goes to the candidate.
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

/** Tells whether nothing that the candidate may have processed would be processed by the primary as well. */
const mayLeave = ({ operation, attempts }: Exchange): boolean => operation.method === 'GET' || !attempts.wasSent

const isUnsent = (exchange: Exchange, error: unknown): boolean => {
  if (!(error instanceof GatewayError)) return false
  if (failureTable[error.kind].retry !== 'always' && !hasNoPlace(error)) return false
  // A POST that its key let the candidate try twice may have been processed the first time.
  return mayLeave(exchange)
}

// The candidate has no endpoint for it.
const unsentKinds: ReadonlySet<FailureKind> = new Set<FailureKind>(['no-healthy-endpoint', 'circuit-open'])

/** Tells whether the candidate had no place for a request: no endpoint, no connection, or an open breaker. */
const hasNoPlace = ({ kind, reason }: GatewayError): boolean =>
  // The response to a request that was sent can want for room too: `overloaded` alone says nothing.
  unsentKinds.has(kind) || (kind === 'overloaded' && (reason === 'endpoint-connections' || reason === 'endpoint-share'))

/** Creates the innermost handler of a group: the send of its upstream, or of both sides while a candidate is in use. */
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
