import { serializeList } from 'structured-headers'
import type { Exchange, Handler, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
import { GatewayError, overloadedError, type ReasonFor } from '../../core/exchange/failures/errors.ts'
import { weakMemo } from '../../core/lib/memo.ts'
import { toNetworkKey } from '../../core/lib/net/addresses.ts'
import {
  type ConsumeResult,
  isAllowed,
  msUntilNextToken,
  type RateLimit,
  type RateLimiter,
  remainingTokens,
} from '../../core/lib/token-bucket.ts'
import { byGroup, byOperation } from '../../operations.ts'

interface InFlightCounter {
  inFlight: number
}

const createCounter = (): InFlightCounter => ({ inFlight: 0 })

/**
 * Creates the counters of what one process has in flight, at each level that has a limit: in all, for each upstream,
 * each operation and each client. A new snapshot takes them over: an exchange that began under an earlier one still
 * counts, whatever the limit was then.
 */
export const createInFlightCounters = () => ({
  all: createCounter(),
  upstreams: byGroup(createCounter),
  operations: byOperation(createCounter),
  /** The exchanges in flight by client id; a client with none has no entry. */
  clients: new Map<string, number>(),
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

/** Counts the requests of one key, adds the remaining quota to each response, and rejects a request over the limit. */
const rateLimitEnforcer = (
  limiter: RateLimiter,
  reason: ReasonFor<'rate-limited'>,
  cause?: string,
): ((key: string, exchange: Exchange, next: Handler) => Promise<ProxyResponse>) => {
  const fields = rateLimitFields(limiter.limit)
  const admitOrReject = (outcome: ConsumeResult, exchange: Exchange, next: Handler): Promise<ProxyResponse> => {
    exchange.addedResponseFields = [...(exchange.addedResponseFields ?? []), ...fields.render(outcome)]
    if (isAllowed(outcome)) return next(exchange)
    return Promise.reject(new GatewayError('rate-limited', { reason, cause, fields: fields.retryAfter(outcome) }))
  }
  return (key, exchange, next) => {
    const outcome = limiter.consume(key)
    return typeof outcome === 'number'
      ? admitOrReject(outcome, exchange, next)
      : outcome.then((consumed) => admitOrReject(consumed, exchange, next))
  }
}

/**
 * Limits how many requests one client sends, from whatever address. It stands behind `auth`, so that no client uses up
 * the quota of another, and a call that the client may not make is not counted. `getLimiter` returns the limiter of a
 * client; undefined means that the client has no limit.
 */
export const clientRateLimitLayer = (getLimiter: (client: string) => RateLimiter | undefined): Layer => {
  const getEnforcer = weakMemo((limiter: RateLimiter) =>
    rateLimitEnforcer(limiter, 'client-rate', 'the client asks too often'),
  )
  return (next) => (exchange) => {
    const client = exchange.identity?.client
    const limiter = client === undefined ? undefined : getLimiter(client)
    if (client === undefined || limiter === undefined) return next(exchange)
    return getEnforcer(limiter)(client, exchange, next)
  }
}

/**
 * Limits how many requests come from one address, or from one network in IPv6. It stands before all work that costs
 * more than counting, so that no client guesses keys or has signatures checked faster than this. Every response names
 * the remaining quota.
 */
export const addressRateLimitLayer = (limiter: RateLimiter, ipv6Prefix: number): Layer => {
  const enforce = rateLimitEnforcer(limiter, 'address-rate')
  return (next) => (exchange) => enforce(toNetworkKey(exchange.client, ipv6Prefix), exchange, next)
}

/**
 * Renders the fields of draft-ietf-httpapi-ratelimit-headers-11. The quota of a bucket is its burst, and its window the
 * time in which an empty bucket fills. `t` is the time until there is one token more than `r`: for so long there are no
 * more (§4.1.2), and Retry-After, which must not be sooner (§6), says the same. The time until the bucket is full would
 * be too long: a client that keeps to it would have a fraction of the rate. What is the same in each is serialised
 * once: the rest are two whole numbers, which serialise as they are (RFC 9651 §4.1.4).
 */
export const rateLimitFields = (limit: RateLimit) => {
  const { policy, burst, perMs } = limit
  const item = (parameters: readonly (readonly [string, number])[]): string =>
    serializeList([[policy, new Map(parameters)]])
  const policyItem = item([
    ['q', burst],
    ['w', seconds(burst / perMs)],
  ])
  const start = item([])
  return {
    /** Lists `RateLimit-Policy` and `RateLimit`, name and value by turns. */
    render: (outcome: ConsumeResult): readonly string[] => [
      'RateLimit-Policy',
      policyItem,
      'RateLimit',
      `${start};r=${remainingTokens(outcome, limit)};t=${seconds(msUntilNextToken(outcome, limit))}`,
    ],
    retryAfter: (outcome: ConsumeResult): readonly string[] => [
      'Retry-After',
      String(seconds(msUntilNextToken(outcome, limit))),
    ],
  }
}

/** Rounds up, so that no client comes too early. */
const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))
