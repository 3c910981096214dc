/** Is a token bucket: so many at once, and as time goes by so many more. */
export interface Limit {
  /** What the limit is called, to clients too. */
  readonly policy: string
  /** How many a millisecond. */
  readonly perMs: number
  /** How many at once; at least 1. */
  readonly burst: number
}

/** Is how full a bucket is, counted from what was taken: it drains at the rate of its limit. */
export interface Bucket {
  used: number
  /** When that was so, in milliseconds. */
  at: number
}

/**
 * Is how a take went, in one number that another process and Redis can answer with: what has been used of the burst, this take included,
 * or with a minus what had been used already when nothing was left.
 */
export type Outcome = number

/** Tells what is still used of a bucket. A clock that was set back drains nothing, and holds nothing up either. */
export const usedOf = ({ used, at }: Bucket, { perMs }: Limit, now: number): number =>
  Math.max(0, used - Math.max(0, now - at) * perMs)

/** Takes one of a bucket. The script for Redis does the same, step by step (see redis/client.ts). */
export const takeOf = (bucket: Bucket, limit: Limit, now: number): Outcome => {
  const used = usedOf(bucket, limit, now)
  if (used + 1 > limit.burst) return -used
  bucket.used = used + 1
  bucket.at = now
  return bucket.used
}

/** Tells whether something was left to take. What is refused has used something: a burst is at least 1. */
export const isTaken = (outcome: Outcome): boolean => outcome > 0

/** Tells how many more may be taken at once. */
export const leftOf = (outcome: Outcome, { burst }: Limit): number => Math.max(0, Math.floor(burst - Math.abs(outcome)))

/** Tells how long it takes until there is one more to take than is left now, in milliseconds. */
export const nextInMs = (outcome: Outcome, limit: Limit): number =>
  Math.max(0, Math.abs(outcome) + leftOf(outcome, limit) + 1 - limit.burst) / limit.perMs

/** Counts what each key takes of a limit of its own. */
export interface Limiter {
  readonly limit: Limit
  /** Takes one: at once, or soon, when somebody else has to be asked. Never rejects. */
  take(key: string): Outcome | Promise<Outcome>
}
