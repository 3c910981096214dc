import type { Exchange, Layer } from '../../../core/exchange/exchange.ts'
import { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { failureTable } from '../../../core/exchange/failures/failure-table.ts'
import { findRequestOwner } from '../../../core/exchange/request-owner.ts'
import { now } from '../../../core/lib/clock.ts'
import { formatDuration, multiples } from '../../../core/lib/text/units.ts'
import type { GroupEndpoint } from '../../../core/upstream/endpoints/group-endpoint.ts'
import type { CandidateGuardConfig } from '../config/candidate.ts'
import type { GuardCounts, GuardedRequest } from '../observe/guard/guard-counts.ts'
import { cellCount } from '../observe/guard/guard-key.ts'
import { getBucketMemory } from './side.ts'

/**
 * Counts first attempts only: a fault that a retry mends is a fault, and the primary must not be blamed for a request
 * that failed at the candidate first. A broken response counts where it was fetched, whatever the client gets.
 * `members`: the candidate's endpoints.
 */
export const guardLayer = (
  counts: GuardCounts,
  ipv6Prefix: number,
  members: readonly Pick<GroupEndpoint, 'takesRequests'>[],
): Layer => {
  const findBucket = getBucketMemory(counts.group)
  const findCell = (exchange: Exchange): number => findBucket(findRequestOwner(exchange, ipv6Prefix)) % cellCount
  return (next) => (exchange) => {
    const { side, operation } = exchange
    if (side === null || exchange.attempts.count > 0 || exchange.attempts.fellBack) return next(exchange)
    const cell = side === 'candidate' ? findCell(exchange) : 0
    const request = counts.begin(operation.id, side, cell, exchange.body.received)
    if (!exchange.body.received) startWhenReceived(exchange, request)
    exchange.onBrokenResponse = () => {
      if (exchange.attempts.fellBack) return
      exchange.onBrokenResponse = null
      counts.late(operation.id, side, cell)
    }
    const fail = (reason: GatewayError['reason'] = null): void => {
      // The body of a 500 may have broken off before this layer sees the head.
      if (exchange.onBrokenResponse === null) return counts.responded(request)
      exchange.onBrokenResponse = null
      // The request may have begun before operators drained the whole candidate.
      const isUnsent = side === 'candidate' && (exchange.attempts.fellBack || reason === 'all-draining')
      if (isUnsent && members.every(({ takesRequests }) => !takesRequests)) counts.dropped(request)
      else counts.failed(request, 'failed')
    }
    return next(exchange).then(
      (response) => {
        if (exchange.attempts.fellBack || response.status >= 500) fail()
        else if (response.status >= 400) counts.failed(request, 'rejected')
        else counts.responded(request)
        return response
      },
      (error) => {
        const { kind, reason } = GatewayError.from(error)
        if (exchange.attempts.fellBack) fail()
        else if (kind === 'client-gone') counts.left(request)
        // A fault of the client or of the gateway is no evidence about a side.
        else if (kind === 'internal' || failureTable[kind].fault === 'client') counts.dropped(request)
        else fail(reason)
        throw error
      },
    )
  }
}

/** A slow upload is no fault of a side. */
const startWhenReceived = ({ body }: Exchange, request: GuardedRequest): void => {
  const before = body.onReceived
  body.onReceived = () => {
    request.startedAt = now()
    before?.()
  }
}

export const formatGuard = ({ errors, latency, minRequests, window }: CandidateGuardConfig): string =>
  `errors: ${multiples.format(errors)}, latency: ${multiples.format(latency)}, minRequests: ${minRequests}, window: ${formatDuration(window)}`
