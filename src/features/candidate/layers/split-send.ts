import type { Exchange, Handler } from '../../../core/exchange/exchange.ts'
import { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { failureTable } from '../../../core/exchange/failures/failure-table.ts'
import { now } from '../../../core/lib/clock.ts'
import type { Upstream } from '../../../core/upstream/upstream.ts'
import type { CandidateUse } from '../candidate-clients.ts'
import type { CandidateConfig } from '../config/candidate.ts'

export interface SplitSides {
  readonly primary: Handler
  readonly candidate: Handler
  readonly fallback: boolean
  candidateIsUp(): boolean
}

/** Requests that cannot be sent to the candidate go to the primary, never the other way. */
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

/** Whether the other side can process the request without processing it twice. */
const mayLeave = ({ operation, attempts }: Exchange): boolean => operation.method === 'GET' || !attempts.wasSent

const isUnsent = (exchange: Exchange, error: unknown): boolean => {
  if (!(error instanceof GatewayError)) return false
  if (failureTable[error.kind].retry !== 'always' && !hasNoPlace(error)) return false
  // With an idempotency key, the candidate may have processed an earlier attempt of a POST.
  return mayLeave(exchange)
}

/** Responses can be `overloaded` too, so the reason decides. */
const hasNoPlace = ({ kind, reason }: GatewayError): boolean =>
  kind === 'no-healthy-endpoint' ||
  kind === 'circuit-open' ||
  (kind === 'overloaded' && (reason === 'endpoint-connections' || reason === 'endpoint-share'))

export const createSend = (
  { send: primary }: Upstream,
  candidate: Upstream | null,
  config: CandidateConfig | null,
  use: CandidateUse | null,
): Handler => {
  if (candidate === null || config === null || use === null) return primary
  const { send, members } = candidate
  const candidateIsUp = (): boolean => {
    const at = now()
    return members.some(({ takesRequests, health }) => takesRequests && !health.isDown && !health.isEjected(at))
  }
  return splitSend({ primary, candidate: send, fallback: config.fallback, candidateIsUp })
}
