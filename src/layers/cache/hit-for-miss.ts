import { LRUCache } from 'lru-cache'
import { now } from '../../clock.ts'
import type { NotStoredReason } from './policy/storability.ts'

// Short, because the next response may be one that can be stored; and little memory, because a client may invent keys.
const hitForMissMs = 5_000
const maxHitForMissBytes = 256 * 1024

interface HitForMissEntry {
  readonly why: NotStoredReason
  readonly until: number
}

/**
 * Remembers keys whose responses could not be shared: requests for them then wait for no other and are forwarded as
 * they came. Otherwise they would wait in groups for a response that each has to fetch for itself in the end. Varnish
 * calls this hit-for-miss.
 */
export class HitForMiss {
  readonly #entries = new LRUCache<string, HitForMissEntry>({
    maxSize: maxHitForMissBytes,
    sizeCalculation: (_, key) => key.length + 128,
  })

  /**
   * Marks a key, unless only the client's own credentials kept the response from being shared: the next client is
   * likely to be another.
   */
  mark(key: string, why: NotStoredReason): void {
    if (why === 'authorization' || why === 'credentials') return
    this.#entries.set(key, { why, until: now() + hitForMissMs })
  }

  has(key: string): boolean {
    return this.reasonFor(key) !== null
  }

  /** Returns why the last response under a key could not be shared; null: it could, or that is too long ago. */
  reasonFor(key: string): NotStoredReason | null {
    if (this.#entries.size === 0) return null
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    if (now() < entry.until) return entry.why
    this.#entries.delete(key)
    return null
  }
}
