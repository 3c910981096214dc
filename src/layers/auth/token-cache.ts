import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { epochMs } from '../../clock.ts'

/** Is what is known of a token. */
export interface CachedToken<T> {
  readonly value: T
  /** Until when, in ms since the epoch: at most as long as the token itself is good. */
  readonly expiresAt: number
  /** About how many bytes it takes to remember; at least 1. */
  readonly size: number
}

// Of tokens that were found good, so only an issuer can fill it.
const limits = { entries: 10_000, bytes: 32 * 1024 * 1024 } as const

/**
 * Remembers what was found out of tokens, so that one is verified once and not for every request. Never by the token itself: what looks into
 * memory finds none here. Whether it is still bound to whoever shows it, and entitled to what it asks, is not known here and checked each time.
 */
export class TokenCache<T extends object> {
  readonly #isStillValid: (value: T) => boolean
  readonly #tokens: LRUCache<string, CachedToken<T>>
  readonly #pending = new Map<string, Promise<T>>()

  /** `isStillValid` tells whether what it was verified with holds still. */
  constructor(isStillValid: (value: T) => boolean, entries: number = limits.entries) {
    this.#isStillValid = isStillValid
    this.#tokens = new LRUCache({ max: entries, maxSize: limits.bytes })
  }

  /** Finds what is known of a token; null: nothing, or not any more. */
  find(digest: string): T | null {
    const cached = this.#tokens.get(digest)
    if (cached === undefined) return null
    if (cached.expiresAt > epochMs() && this.#isStillValid(cached.value)) return cached.value
    this.#tokens.delete(digest)
    return null
  }

  /** Finds out about a token, once for all who ask at the same time. */
  load(digest: string, verify: () => Promise<CachedToken<T>>): Promise<T> {
    const pending = this.#pending.get(digest)
    if (pending !== undefined) return pending
    const loading = verify()
      .then((cached) => {
        if (cached.expiresAt > epochMs()) this.#tokens.set(digest, cached, { size: cached.size })
        return cached.value
      })
      .finally(() => this.#pending.delete(digest))
    this.#pending.set(digest, loading)
    return loading
  }

  get size(): number {
    return this.#tokens.size
  }
}

/** Makes what a token is known by. */
export const tokenDigest = (token: string): string => hash('sha256', token, 'base64url')
