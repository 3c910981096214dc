import type { CachePartition } from '../partition.ts'
import type { CacheKey, CacheStore } from './cache-store.ts'

/**
 * The share of a cache's memory that responses on their way and pinned bodies may take. The rest stays for what is
 * stored: a client with many responses on their way, or that reads none of them, does not push out all the others.
 */
export const maxOutsideShare = 0.5

/** Room for a response on its way, until it is stored or not. */
export class Reservation {
  readonly partition: CachePartition
  readonly cacheKey: CacheKey
  /** Whether its key has become invalid since: the response is not stored, and no later request may have it. */
  isCancelled = false
  readonly #store: CacheStore
  #bytes = 0

  constructor(store: CacheStore, partition: CachePartition, cacheKey: CacheKey) {
    this.#store = store
    this.partition = partition
    this.cacheKey = cacheKey
  }

  grow(bytes: number): boolean {
    if (!this.#store.reserveBytes(bytes)) return false
    this.#bytes += bytes
    return true
  }

  /** Moves its room to a reservation of its own: what is no longer to be stored may still be held in memory. */
  split(): Reservation {
    const held = new Reservation(this.#store, this.partition, this.cacheKey)
    held.#bytes = this.#bytes
    this.#bytes = 0
    return held
  }

  shrinkTo(bytes: number): void {
    if (bytes >= this.#bytes) return
    this.#store.releaseBytes(this.#bytes - bytes)
    this.#bytes = bytes
  }

  release(): void {
    this.shrinkTo(0)
    this.#store.removeReservation(this)
  }
}
