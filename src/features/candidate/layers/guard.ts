import type { Config } from '../../../core/config/config.ts'
import type { Exchange, Layer } from '../../../core/exchange/exchange.ts'
import { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { failureTable } from '../../../core/exchange/failures/kinds.ts'
import { findRequestOwner } from '../../../core/exchange/request-owner.ts'
import { now } from '../../../core/lib/clock.ts'
import { formatDuration, multiples } from '../../../core/lib/text/units.ts'
import type { Upstream } from '../../../core/upstream/upstream.ts'
import type { Group } from '../../../operations.ts'
import type { CandidateGuardConfig } from '../config/candidate.ts'
import { GuardCounts, type GuardedRequest } from '../observe/guard/guard-counts.ts'
import { cellOf } from '../observe/guard/guard-key.ts'
import { clientIpv6Prefix, getBucketMemory } from './side.ts'

export interface GuardOptions {
  readonly group: Group
  readonly counts: GuardCounts
  /** The leading bits of an IPv6 address that count as one client where none is authenticated. */
  readonly ipv6Prefix: number
  /** Returns whether no endpoint of the candidate takes requests, because operators drain all. */
  isDrained(): boolean
}

/**
 * Counts what becomes of each request at the side of its client, for the guard. The layer stands below retries and sees
 * the first attempt alone: what a retry mends was a fault all the same, and a request that fails wherever it goes must
 * not count for the primary because the candidate has failed it first. An answer that is broken counts where that is
 * found, at the exchange that fetched it: its client may have left, or get a stored one. A request counts once.
 */
export const guardLayer = ({ group, counts, ipv6Prefix, isDrained }: GuardOptions): Layer => {
  const findBucket = getBucketMemory(group)
  const findCell = (exchange: Exchange): number => cellOf(findBucket(findRequestOwner(exchange, ipv6Prefix)))
  return (next) => (exchange) => {
    const { side, operation } = exchange
    if (side === null || exchange.attempts.count > 0 || exchange.attempts.fellBack) return next(exchange)
    const cell = side === 'candidate' ? findCell(exchange) : 0
    const request = counts.begin(operation.id, side, cell, exchange.body.received)
    if (!exchange.body.received) startWhenReceived(exchange, request)
    exchange.onBrokenAnswer = () => {
      if (exchange.attempts.fellBack) return
      exchange.onBrokenAnswer = null
      counts.late(operation.id, side, cell)
    }
    const fail = (reason: GatewayError['reason'] = null): void => {
      // The body of a 500 may have broken off before its head is seen here.
      if (exchange.onBrokenAnswer === null) return counts.answered(request)
      exchange.onBrokenAnswer = null
      // It may have begun before operators drained all of the candidate, and found no place there.
      const isKeptOut = side === 'candidate' && (exchange.attempts.fellBack || reason === 'all-draining') && isDrained()
      if (isKeptOut) counts.dropped(request)
      else counts.failed(request, 'failed')
    }
    return next(exchange).then(
      (response) => {
        if (exchange.attempts.fellBack || response.status >= 500) fail()
        else if (response.status >= 400) counts.failed(request, 'refused')
        else counts.answered(request)
        return response
      },
      (error) => {
        const { kind, reason } = GatewayError.from(error)
        if (exchange.attempts.fellBack) fail()
        else if (kind === 'client-gone') counts.left(request)
        // What is the client's fault or the gateway's own says nothing of a side.
        else if (kind === 'internal' || failureTable[kind].fault === 'client') counts.dropped(request)
        else fail(reason)
        throw error
      },
    )
  }
}

/** Counts the time from when the client has sent all of its request: a slow upload is no fault of a side. */
const startWhenReceived = ({ body }: Exchange, request: GuardedRequest): void => {
  const before = body.onReceived
  body.onReceived = () => {
    request.startedAt = now()
    before?.()
  }
}

export const formatGuard = ({ errors, latency, minRequests, window }: CandidateGuardConfig): string =>
  `errors: ${multiples.format(errors)}, latency: ${multiples.format(latency)}, minRequests: ${minRequests}, window: ${formatDuration(window)}`

/** `members` are those of the candidate. `counts` left out: nothing is reported. */
export const createGuardOptions = (
  config: Config,
  group: Group,
  members: Upstream['members'],
  counts = new GuardCounts(group, '', () => {}),
): GuardOptions => ({
  group,
  counts,
  ipv6Prefix: clientIpv6Prefix(config),
  isDrained: () => members.every(({ takesRequests }) => !takesRequests),
})
