import { now } from '../../../core/lib/clock.ts'
import {
  bucketUsage,
  type ConsumeResult,
  consumeToken,
  type RateLimit,
  type RateLimiter,
  type TokenBucket,
} from '../../../core/lib/token-bucket.ts'

export const maxRateLimitKeys = 100_000

// So many are visited for each new key: more than one, so that drained keys go faster than others come.
const sweepCount = 2

// Of so many, the one that loses least by it is evicted.
const evictionCandidates = 8

/**
 * A rate limiter in memory. Keys whose bucket has drained are removed as new ones come. Where there are too many, the
 * emptiest of a few is evicted. To push out a busy key, an attacker has to send several requests from each of as many
 * addresses as there is room for, and all that it gains is a fresh burst for that one. No request is ever rejected for
 * want of room.
 */
export class MemoryRateLimiter implements RateLimiter {
  readonly limit: RateLimit
  /** How many keys were removed for want of room that had not drained; limiters may count together. */
  readonly counts: { evictions: number }
  readonly #max: number
  readonly #buckets = new Map<string, TokenBucket>()
  // Goes round and round. To begin at the front each time would pass over everything that was deleted there, which an
  // attacker can make slow.
  #cursor = this.#buckets.entries()

  constructor(limit: RateLimit, max: number = maxRateLimitKeys, counts = { evictions: 0 }) {
    this.limit = limit
    this.#max = max
    this.counts = counts
  }

  /** How many keys are counted. */
  get size(): number {
    return this.#buckets.size
  }

  consume(key: string): ConsumeResult {
    const at = now()
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      this.#makeRoom(at)
      bucket = { used: 0, at }
      this.#buckets.set(key, bucket)
    }
    return consumeToken(bucket, this.limit, at)
  }

  #makeRoom(at: number): void {
    this.#sweep(sweepCount, at)
    if (this.#buckets.size < this.#max) return
    const emptiest = this.#sweep(evictionCandidates, at)
    if (this.#buckets.size < this.#max || emptiest === null) return
    this.#buckets.delete(emptiest)
    this.counts.evictions++
  }

  /** Visits so many more keys, removes those that have drained, and returns the emptiest of the others. */
  #sweep(count: number, at: number): string | null {
    let emptiest: string | null = null
    let minUsed = Number.POSITIVE_INFINITY
    for (let left = Math.min(count, this.#buckets.size); left > 0; left--) {
      let next = this.#cursor.next()
      if (next.done === true) {
        this.#cursor = this.#buckets.entries()
        next = this.#cursor.next()
      }
      if (next.done === true) break
      const [key, bucket] = next.value
      const used = bucketUsage(bucket, this.limit, at)
      if (used === 0) this.#buckets.delete(key)
      else if (used < minUsed) [emptiest, minUsed] = [key, used]
    }
    return emptiest
  }
}
