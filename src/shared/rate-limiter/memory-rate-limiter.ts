import { now } from '../../clock.ts'
import {
  bucketUsage,
  type ConsumeResult,
  consumeToken,
  type RateLimit,
  type RateLimiter,
  type TokenBucket,
} from './token-bucket.ts'

/** Most keys that are counted at once. */
export const maxRateLimitKeys = 100_000

// So many are looked at for each key that is new: more than one, so that those that are drained go faster than others come.
const sweepCount = 2

// Of so many, the one that loses least by it has to go.
const evictionCandidates = 8

/**
 * Counts in memory. Keys whose bucket has drained are forgotten as new ones come. Where there are too many, the emptiest of a few goes:
 * whoever would push out a busy one has to take several times by each of as many addresses as there is room for, and all that it brings is
 * a fresh burst for that one. Nobody is ever refused for want of room.
 */
export class MemoryRateLimiter implements RateLimiter {
  readonly limit: RateLimit
  /** How many were forgotten that had not drained, for want of room. */
  evictions = 0
  readonly #max: number
  readonly #buckets = new Map<string, TokenBucket>()
  // Goes round and round. Beginning at the front each time would pass over all that was deleted there, which an attacker can make slow.
  #cursor = this.#buckets.entries()

  constructor(limit: RateLimit, max: number = maxRateLimitKeys) {
    this.limit = limit
    this.#max = max
  }

  /** Counts the keys that are known. */
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
    this.evictions++
  }

  /** Goes on to so many more keys, forgets those that have drained, and tells which of the others is the emptiest. */
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
