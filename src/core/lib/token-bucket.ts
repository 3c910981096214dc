export interface RateLimit {
  readonly policy: string
  readonly perMs: number
  /** Requests at once; at least 1. */
  readonly burst: number
}

/** Counts consumed tokens: they drain at the rate of the limit. */
export interface TokenBucket {
  used: number
  /** The time of `used`, in milliseconds. */
  at: number
}

/** The used part of the burst, this token included; negative: no token was left. One number, for Redis. */
export type ConsumeResult = number

/** A clock that was set back drains nothing. */
export const bucketUsage = ({ used, at }: TokenBucket, { perMs }: RateLimit, now: number): number =>
  Math.max(0, used - Math.max(0, now - at) * perMs)

/** The script of the feature redis does the same, step by step. */
export const consumeToken = (bucket: TokenBucket, limit: RateLimit, now: number): ConsumeResult => {
  const used = bucketUsage(bucket, limit, now)
  if (used + 1 > limit.burst) return -used
  bucket.used = used + 1
  bucket.at = now
  return bucket.used
}

/** A rejected request finds tokens used, as a burst is at least 1. */
export const isAllowed = (outcome: ConsumeResult): boolean => outcome > 0

export const remainingTokens = (outcome: ConsumeResult, { burst }: RateLimit): number =>
  Math.max(0, Math.floor(burst - Math.abs(outcome)))

export const msUntilNextToken = (outcome: ConsumeResult, limit: RateLimit): number =>
  Math.max(0, Math.abs(outcome) + remainingTokens(outcome, limit) + 1 - limit.burst) / limit.perMs

export interface RateLimiter {
  readonly limit: RateLimit
  /** Later if another process or Redis is asked. Never rejects. */
  consume(key: string): ConsumeResult | Promise<ConsumeResult>
}
