import { now } from '../../clock.ts'
import type { Exchange, Layer } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import { failureTable } from '../../failures/kinds.ts'
import type { GuardCounts, GuardedRequest } from '../../observe/candidate/guard/guard-counts.ts'
import { cellOf } from '../../observe/candidate/guard/guard-key.ts'
import type { ExchangeObserver } from '../../observe/exchange-record.ts'
import type { Group } from '../../operations.ts'
import { findRequestOwner } from '../../shared/request-owner.ts'
import { getBucketMemory } from './client-bucket.ts'

/** What the layer is made from. */
export interface GuardOptions {
  readonly group: Group
  readonly counts: GuardCounts
  /** The leading bits of an IPv6 address that count as one client where none is authenticated. */
  readonly ipv6Prefix: number
}

/**
 * Counts what becomes of each request at the side of its client, for the guard. The layer stands below retries and sees
 * the first attempt alone: what a retry mends was a fault all the same, and a request that fails wherever it goes must
 * not count for the primary because the candidate has failed it first.
 */
export const guardLayer = ({ group, counts, ipv6Prefix }: GuardOptions): Layer => {
  const findCell = createCellFinder(group, ipv6Prefix)
  return (next) => (exchange) => {
    const { side, operation } = exchange
    if (side === null || exchange.attempts > 0 || exchange.fellBack) return next(exchange)
    const cell = side === 'candidate' ? findCell(exchange) : 0
    const request = counts.begin(operation.id, side, cell, exchange.body.received)
    if (!exchange.body.received) startWhenReceived(exchange, request)
    const fail = (): void => {
      exchange.hasFailedItsSide = true
      counts.failed(request, 'failed')
    }
    return next(exchange).then(
      (response) => {
        if (exchange.fellBack || response.status >= 500) fail()
        else if (response.status >= 400) counts.failed(request, 'refused')
        else counts.answered(request)
        return response
      },
      (error) => {
        const { kind } = GatewayError.from(error)
        if (exchange.fellBack) fail()
        else if (kind === 'client-gone') counts.left(request)
        // What is the client's fault or the gateway's own says nothing of a side.
        else if (kind === 'internal' || failureTable[kind].fault === 'client') counts.dropped(request)
        else fail()
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

/**
 * Observes what goes wrong when a response has begun: one that broke off, and one that breaks the contract. A request
 * that has failed its side by then, by a 500 say, counts once. `groups`: the groups that are guarded.
 */
export const guardObserver = (groups: ReadonlyMap<Group, GuardOptions>): ExchangeObserver => {
  const finders = new Map([...groups].map(([group, { ipv6Prefix }]) => [group, createCellFinder(group, ipv6Prefix)]))
  return {
    name: 'guard',
    record({ failure, client, exchange }) {
      if (failure === null || (failure.kind !== 'truncated' && failure.kind !== 'invalid-response')) return
      if (exchange === null || exchange.side === null || exchange.fellBack || exchange.hasFailedItsSide) return
      // It was counted with the request that fetched it.
      if (exchange.attempts === 0 || exchange.cache === 'stale') return
      const { operation, side, identity } = exchange
      const cell = side === 'candidate' ? (finders.get(operation.group)?.({ identity, client }) ?? 0) : 0
      groups.get(operation.group)?.counts.late(operation.id, side, cell)
    },
  }
}

const createCellFinder = (group: Group, ipv6Prefix: number) => {
  const findBucket = getBucketMemory(group)
  return (exchange: Pick<Exchange, 'identity' | 'client'>): number =>
    cellOf(findBucket(findRequestOwner(exchange, ipv6Prefix)))
}
