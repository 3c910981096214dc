import { serializeList } from 'structured-headers'
import type { Exchange, Handler, Layer, ProxyResponse } from '../../core/exchange/exchange.ts'
import { GatewayError } from '../../core/exchange/failures/errors.ts'
import type { ReasonFor } from '../../core/exchange/failures/reasons.ts'
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
