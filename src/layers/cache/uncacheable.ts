import { LRUCache } from 'lru-cache'
import { now } from '../../clock.ts'
import type { NotStored } from './policy/storing.ts'

// Short, because the next answer may be one that can be stored; and little memory, because who asks may invent keys.
const rememberedMs = 5_000
const mostBytes = 256 * 1024

/**
 * Remembers keys whose answers could not be shared: while it does, requests for them wait for nobody and are forwarded as they came. Otherwise
 * they would wait in groups for an answer that each has to fetch for itself in the end.
 */
export class Uncacheable {
  readonly #until = new LRUCache<string, number>({ maxSize: mostBytes, sizeCalculation: (_, key) => key.length + 128 })

  note(key: string): void {
    this.#until.set(key, now() + rememberedMs)
  }

  has(key: string): boolean {
    if (this.#until.size === 0) return false
    const until = this.#until.get(key)
    if (until === undefined) return false
    if (now() < until) return true
    this.#until.delete(key)
    return false
  }
}

/** Tells whether the next answer is likely to be no more storable: where it is so because of what only one client sent, it is not. */
export const isLikelyAgain = (not: NotStored): boolean => not !== 'authorization' && not !== 'credentials'
