import { now } from '../../clock.ts'
import { type Bucket, type Limit, type Outcome, takeOf, usedOf } from './bucket.ts'
import type { Limiter } from './limiter.ts'

/** Most keys that are counted at once: some 15 MB. */
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
  /** In the order in which they will be looked at. */
  readonly #buckets = new Map<string, Bucket>()

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

  /** Forgets those that have drained, of so many that come first, and has the others come last; tells which of them is the emptiest. */
  #lookAt(count: number, at: number): string | null {
    let emptiest: string | null = null
    let least = Number.POSITIVE_INFINITY
    let left = Math.min(count, this.#buckets.size)
    for (const [key, bucket] of this.#buckets) {
      if (left-- === 0) break
      this.#buckets.delete(key)
      const used = usedOf(bucket, this.limit, at)
      if (used === 0) continue
      this.#buckets.set(key, bucket)
      if (used < least) [emptiest, least] = [key, used]
    }
    return emptiest
  }
}
