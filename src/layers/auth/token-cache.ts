import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { wallClock } from '../../clock.ts'

/** Is what is known of a token. */
export interface Known<T> {
  readonly value: T
  /** Until when, in ms since the epoch: at most as long as the token itself is good. */
  readonly until: number
  /** About how many bytes it takes to remember; at least 1. */
  readonly size: number
}

// Of tokens that were found good, so only an issuer can fill it.
const most = { entries: 10_000, bytes: 32 * 1024 * 1024 } as const

/**
 * Remembers what was found out of tokens, so that one is verified once and not for every request. Never by the token itself: what looks into
 * memory finds none here. Whether it is still bound to whoever shows it, and entitled to what it asks, is not known here and checked each time.
 */
export class TokenCache<T extends object> {
  readonly #isStill: (value: T) => boolean
  readonly #known: LRUCache<string, Known<T>>
  readonly #asked = new Map<string, Promise<T>>()

  /** `isStill` tells whether what it was verified with holds still. */
  constructor(isStill: (value: T) => boolean, entries: number = most.entries) {
    this.#isStill = isStill
    this.#known = new LRUCache({ max: entries, maxSize: most.bytes })
  }

  /** Finds what is known of a token; null: nothing, or not any more. */
  find(digest: string): T | null {
    const known = this.#known.get(digest)
    if (known === undefined) return null
    if (known.until > wallClock() && this.#isStill(known.value)) return known.value
    this.#known.delete(digest)
    return null
  }

  /** Finds out about a token, once for all who ask at the same time. */
  learn(digest: string, findOut: () => Promise<Known<T>>): Promise<T> {
    const asked = this.#asked.get(digest)
    if (asked !== undefined) return asked
    const answer = findOut()
      .then((known) => {
        if (known.until > wallClock()) this.#known.set(digest, known, { size: known.size })
        return known.value
      })
      .finally(() => this.#asked.delete(digest))
    this.#asked.set(digest, answer)
    return answer
  }

  get size(): number {
    return this.#known.size
  }
}

/** Makes what a token is known by. */
export const digestOf = (token: string): string => hash('sha256', token, 'base64url')
