import { serializeList } from 'structured-headers'
import {
  type ConsumeResult,
  msUntilNextToken,
  type RateLimit,
  remainingTokens,
} from '../../../core/lib/token-bucket.ts'

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
