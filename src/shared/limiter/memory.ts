import { now } from '../../clock.ts'
import { type Bucket, type Limit, type Limiter, type Outcome, takeOf, usedOf } from './bucket.ts'

/** Most keys that are counted at once. */
export const maxKeys = 100_000

// So many are looked at for each key that is new: more than one, so that those that are drained go faster than others come.
const sweep = 2

// Of so many, the one that loses least by it has to go.
const candidates = 8

/**
 * Counts in memory. Keys whose bucket has drained are forgotten as new ones come. Where there are too many, the emptiest of a few goes:
 * whoever would push out a busy one has to take several times by each of as many addresses as there is room for, and all that it brings is
 * a fresh burst for that one. Nobody is ever refused for want of room.
 */
export class MemoryLimiter implements Limiter {
  readonly limit: Limit
  /** How many were forgotten that had not drained, for want of room. */
  evictions = 0
  readonly #max: number
  readonly #buckets = new Map<string, Bucket>()
  // Goes round and round. Beginning at the front each time would pass over all that was deleted there, which an attacker can make slow.
  #hand = this.#buckets.entries()

  constructor(limit: Limit, max: number = maxKeys) {
    this.limit = limit
    this.#max = max
  }

  /** Counts the keys that are known. */
  get size(): number {
    return this.#buckets.size
  }

  take(key: string): Outcome {
    const at = now()
    let bucket = this.#buckets.get(key)
    if (bucket === undefined) {
      this.#makeRoom(at)
      bucket = { used: 0, at }
      this.#buckets.set(key, bucket)
    }
    return takeOf(bucket, this.limit, at)
  }

  #makeRoom(at: number): void {
    this.#lookAt(sweep, at)
    if (this.#buckets.size < this.#max) return
    const emptiest = this.#lookAt(candidates, at)
    if (this.#buckets.size < this.#max || emptiest === null) return
    this.#buckets.delete(emptiest)
    this.evictions++
  }

  /** Goes on to so many more keys, forgets those that have drained, and tells which of the others is the emptiest. */
  #lookAt(count: number, at: number): string | null {
    let emptiest: string | null = null
    let least = Number.POSITIVE_INFINITY
    for (let left = Math.min(count, this.#buckets.size); left > 0; left--) {
      let next = this.#hand.next()
      if (next.done === true) {
        this.#hand = this.#buckets.entries()
        next = this.#hand.next()
      }
      if (next.done === true) break
      const [key, bucket] = next.value
      const used = usedOf(bucket, this.limit, at)
      if (used === 0) this.#buckets.delete(key)
      else if (used < least) [emptiest, least] = [key, used]
    }
    return emptiest
  }
}
