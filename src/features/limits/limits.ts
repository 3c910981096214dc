import type { Layer } from '../../core/exchange/exchange.ts'
import { GatewayError, overloadedError } from '../../core/exchange/failures/errors.ts'
import type { ReasonFor } from '../../core/exchange/failures/reasons.ts'
import { byGroup, byOperation, type Group, type OperationId } from '../../operations.ts'

export interface InFlightCounter {
  inFlight: number
}

/**
 * What one process has in flight, counted at each level that has a limit: in all, for each upstream, each operation and
 * each client. A new snapshot takes the counters over: an exchange that began under an earlier one still counts,
 * whatever the limit was then.
 */
export interface InFlightCounters {
  readonly all: InFlightCounter
  readonly upstreams: Readonly<Record<Group, InFlightCounter>>
  readonly operations: Readonly<Record<OperationId, InFlightCounter>>
  /** The exchanges in flight by client id; a client with none has no entry. */
  readonly clients: Map<string, number>
}

export const createInFlightCounters = (): InFlightCounters => ({
  all: { inFlight: 0 },
  upstreams: byGroup(() => ({ inFlight: 0 })),
  operations: byOperation(() => ({ inFlight: 0 })),
  clients: new Map(),
})

/**
 * Sheds load: at most `max` exchanges are in flight, and the excess is rejected at once. An exchange counts until the
 * client has taken the last byte of its response or the exchange ends: a slow reader keeps its slot. One that fails
 * counts no longer, or a client without a credential that takes no byte of its 401 would hold a slot of the others for
 * as long as it is waited for. Nothing queues here: a request that waits in a queue is served late or never, and a full
 * queue serves no request in time. `reason` names the limit.
 */
export const concurrencyLimitLayer = (max: number, count: InFlightCounter, reason: ReasonFor<'overloaded'>): Layer => {
  const release = (): void => {
    count.inFlight--
  }
  return (next) => (exchange) => {
    if (count.inFlight >= max) return Promise.reject(overloadedError(reason))
    count.inFlight++
    exchange.holdSlot(release)
    return next(exchange)
  }
}

/**
 * Limits how many exchanges one client has in flight. `limitOf` returns the limit of a client id, or null for no limit.
 * The status is 429 and not 503: the client is the one that can do something about it, and the gateway has room. A 5xx
 * would wake operators because one client does too much at once. An exchange counts until the client has taken the last
 * byte of its response, or until it fails.
 */
export const clientConcurrencyLimitLayer = (
  limitOf: (client: string) => number | null,
  inFlight: Map<string, number>,
): Layer => {
  const release = (client: string): void => {
    const left = (inFlight.get(client) ?? 1) - 1
    if (left > 0) inFlight.set(client, left)
    else inFlight.delete(client)
  }
  return (next) => (exchange) => {
    const client = exchange.identity?.client
    const limit = client === undefined ? null : limitOf(client)
    if (client === undefined || limit === null) return next(exchange)
    const count = inFlight.get(client) ?? 0
    if (count >= limit) return Promise.reject(tooManyInFlight())
    inFlight.set(client, count + 1)
    exchange.holdSlot(() => release(client))
    return next(exchange)
  }
}

/**
 * RFC 9110 §10.2.3: whole seconds, so 1 is the shortest delay. Only the client knows when one of its exchanges ends.
 */
const tooManyInFlight = (): GatewayError =>
  new GatewayError('rate-limited', {
    reason: 'client-concurrency',
    cause: 'the client has too many in flight',
    fields: ['Retry-After', '1'],
  })
