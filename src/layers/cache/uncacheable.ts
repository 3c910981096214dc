import { LRUCache } from 'lru-cache'
import { now } from '../../clock.ts'
import type { NotStored } from './policy/storing.ts'

// Short, because the next answer may be one that can be stored; and little memory, because who asks may invent keys.
const rememberedMs = 5_000
const mostBytes = 256 * 1024

interface Remembered {
  readonly why: NotStored
  readonly until: number
}

/**
 * Remembers keys whose answers could not be shared: while it does, requests for them wait for nobody and are forwarded as they came. Otherwise
 * they would wait in groups for an answer that each has to fetch for itself in the end.
 */
export class Uncacheable {
  readonly #remembered = new LRUCache<string, Remembered>({
    maxSize: mostBytes,
    sizeCalculation: (_, key) => key.length + 128,
  })

  /** Notes a key, unless it was for what only one client sent that its answer could not be shared: the next is likely to be another. */
  note(key: string, why: NotStored): void {
    if (why === 'authorization' || why === 'credentials') return
    this.#remembered.set(key, { why, until: now() + rememberedMs })
  }

  has(key: string): boolean {
    return this.why(key) !== null
  }

  /** Says why the last answer under a key could not be shared; null: it could, or that is too long ago. */
  why(key: string): NotStored | null {
    if (this.#remembered.size === 0) return null
    const remembered = this.#remembered.get(key)
    if (remembered === undefined) return null
    if (now() < remembered.until) return remembered.why
    this.#remembered.delete(key)
    return null
  }
}
