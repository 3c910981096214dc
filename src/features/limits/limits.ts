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

type InFlightCounter = ReturnType<typeof createCounter>

const createCounter = () => ({ inFlight: 0 })

/** One process's counters. Snapshots share them: exchanges of an earlier snapshot still count. */
export const createInFlightCounters = () => ({
  all: createCounter(),
  upstreams: byGroup(createCounter),
  operations: byOperation(createCounter),
  /** By client id; no entry means 0. */
  clients: new Map<string, number>(),
})

/**
 * A slow reader keeps its slot until the last byte. A failed exchange frees its slot at once: otherwise a client that
 * does not read its 401 would hold a slot. Nothing queues: queued requests are served late or never, and a full queue
 * serves none in time.
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

/** 429, not 503: the client can act, the gateway has room, and a 5xx would alert operators because of one client. */
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

/** RFC 9110 §10.2.3: 1 is the shortest. Only the client knows when its exchanges end. */
const tooManyInFlight = (): GatewayError =>
  new GatewayError('rate-limited', {
    reason: 'client-concurrency',
    cause: 'the client has too many in flight',
    fields: ['Retry-After', '1'],
  })

const rateLimitEnforcer = (limiter: RateLimiter, reason: ReasonFor<'rate-limited'>, cause?: string) => {
  const fields = rateLimitFields(limiter.limit)
  const admitOrReject = (outcome: ConsumeResult, exchange: Exchange, next: Handler): Promise<ProxyResponse> => {
    exchange.addedResponseFields = [...(exchange.addedResponseFields ?? []), ...fields.render(outcome)]
    if (isAllowed(outcome)) return next(exchange)
    return Promise.reject(new GatewayError('rate-limited', { reason, cause, fields: fields.retryAfter(outcome) }))
  }
  return (key: string, exchange: Exchange, next: Handler): Promise<ProxyResponse> => {
    const outcome = limiter.consume(key)
    return typeof outcome === 'number'
      ? admitOrReject(outcome, exchange, next)
      : outcome.then((consumed) => admitOrReject(consumed, exchange, next))
  }
}

/** After `auth`: clients cannot use up each other's quota, and forbidden requests do not count. */
export const clientRateLimitLayer = (getLimiter: (client: string) => RateLimiter | undefined): Layer => {
  const getEnforcer = weakMemo((limiter: RateLimiter) =>
    rateLimitEnforcer(limiter, 'client-rate', 'the client sends too many requests'),
  )
  return (next) => (exchange) => {
    const client = exchange.identity?.client
    const limiter = client === undefined ? undefined : getLimiter(client)
    if (client === undefined || limiter === undefined) return next(exchange)
    return getEnforcer(limiter)(client, exchange, next)
  }
}

/** By address, or IPv6 network. Before expensive work: bounds guesses of keys and checks of signatures. */
export const addressRateLimitLayer = (limiter: RateLimiter, ipv6Prefix: number): Layer => {
  const enforce = rateLimitEnforcer(limiter, 'address-rate')
  return (next) => (exchange) => enforce(toNetworkKey(exchange.client, ipv6Prefix), exchange, next)
}

/**
 * draft-ietf-httpapi-ratelimit-headers-11. The quota is the burst; the window is the time in which an empty bucket
 * fills. `t` is the time until there is one token more than `r` (§4.1.2), and so is Retry-After, which must not be
 * sooner (§6). The time until the bucket is full would hold an obedient client to a fraction of its rate. Integers
 * serialize as they are (RFC 9651 §4.1.4).
 */
export const rateLimitFields = (limit: RateLimit) => {
  const { policy, burst, perMs } = limit
  const start = `"${policy}"` // names of policies need no escaping
  const policyItem = `${start};q=${burst};w=${seconds(burst / perMs)}`
  return {
    render: (outcome: ConsumeResult): readonly string[] => [
      'RateLimit-Policy',
      policyItem,
      'RateLimit',
      `${start};r=${remainingTokens(outcome, limit)};t=${seconds(msUntilNextToken(outcome, limit))}`,
    ],
    retryAfter: (outcome: ConsumeResult) => ['Retry-After', String(seconds(msUntilNextToken(outcome, limit)))],
  }
}

/** Rounds up: no client comes too early. */
const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))
