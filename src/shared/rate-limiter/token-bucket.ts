/** Is a token bucket: so many at once, and as time goes by so many more. */
export interface RateLimit {
  /** What the limit is called, to clients too. */
  readonly policy: string
  /** How many a millisecond. */
  readonly perMs: number
  /** How many at once; at least 1. */
  readonly burst: number
}

/** Is how full a bucket is, counted from what was taken: it drains at the rate of its limit. */
export interface TokenBucket {
  used: number
  /** When that was so, in milliseconds. */
  at: number
}

/**
 * Is how a take went, in one number that another process and Redis can answer with: what has been used of the burst, this take included,
 * or with a minus what had been used already when nothing was left.
 */
export type ConsumeResult = number

/** Tells what is still used of a bucket. A clock that was set back drains nothing, and holds nothing up either. */
export const bucketUsage = ({ used, at }: TokenBucket, { perMs }: RateLimit, now: number): number =>
  Math.max(0, used - Math.max(0, now - at) * perMs)

/** Takes one of a bucket. The script for Redis does the same, step by step (see redis/client.ts). */
export const consumeToken = (bucket: TokenBucket, limit: RateLimit, now: number): ConsumeResult => {
  const used = bucketUsage(bucket, limit, now)
  if (used + 1 > limit.burst) return -used
  bucket.used = used + 1
  bucket.at = now
  return bucket.used
}

/** Tells whether something was left to take. What is refused has used something: a burst is at least 1. */
export const isAllowed = (outcome: ConsumeResult): boolean => outcome > 0

/** Tells how many more may be taken at once. */
export const remainingTokens = (outcome: ConsumeResult, { burst }: RateLimit): number =>
  Math.max(0, Math.floor(burst - Math.abs(outcome)))

/** Tells how long it takes until there is one more to take than is left now, in milliseconds. */
export const msUntilNextToken = (outcome: ConsumeResult, limit: RateLimit): number =>
  Math.max(0, Math.abs(outcome) + remainingTokens(outcome, limit) + 1 - limit.burst) / limit.perMs

/** Counts what each key takes of a limit of its own. */
export interface RateLimiter {
  readonly limit: RateLimit
  /** Takes one: at once, or soon, when somebody else has to be asked. Never rejects. */
  consume(key: string): ConsumeResult | Promise<ConsumeResult>
}
