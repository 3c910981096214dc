/** A token bucket: so many requests at once, and as time goes by so many more. */
export interface RateLimit {
  readonly policy: string
  /** How many tokens a millisecond. */
  readonly perMs: number
  /** How many requests at once; at least 1. */
  readonly burst: number
}

/** How full a bucket is, counted from what was consumed: it drains at the rate of its limit. */
export interface TokenBucket {
  used: number
  /** When that was so, in milliseconds. */
  at: number
}

/**
 * The result of a request for a token, in one number that another process and Redis can reply with: how much of the
 * burst has been used, this token included, or with a minus how much had been used when no token was left.
 */
export type ConsumeResult = number

/** Returns what is still used of a bucket. A clock that was set back drains nothing, and delays nothing either. */
export const bucketUsage = ({ used, at }: TokenBucket, { perMs }: RateLimit, now: number): number =>
  Math.max(0, used - Math.max(0, now - at) * perMs)

/** Consumes one token. The script for Redis does the same, step by step (redis/redis-script.ts). */
export const consumeToken = (bucket: TokenBucket, limit: RateLimit, now: number): ConsumeResult => {
  const used = bucketUsage(bucket, limit, now)
  if (used + 1 > limit.burst) return -used
  bucket.used = used + 1
  bucket.at = now
  return bucket.used
}

/** Tells whether there was a token. A rejected request finds some used: a burst is at least 1. */
export const isAllowed = (outcome: ConsumeResult): boolean => outcome > 0

export const remainingTokens = (outcome: ConsumeResult, { burst }: RateLimit): number =>
  Math.max(0, Math.floor(burst - Math.abs(outcome)))

export const msUntilNextToken = (outcome: ConsumeResult, limit: RateLimit): number =>
  Math.max(0, Math.abs(outcome) + remainingTokens(outcome, limit) + 1 - limit.burst) / limit.perMs

export interface RateLimiter {
  readonly limit: RateLimit
  /** Consumes one token: at once, or soon, when another process or Redis has to be asked. Never rejects. */
  consume(key: string): ConsumeResult | Promise<ConsumeResult>
}
