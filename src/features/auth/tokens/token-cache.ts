import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { epochMs, now } from '../../../core/lib/clock.ts'

export interface CachedToken<T> {
  readonly value: T
  /** When the token itself is accepted no more, in milliseconds since the epoch; infinite: never. */
  readonly expiresAt: number
  /** For how long the result is believed, in milliseconds; infinite: as long as the token is accepted. */
  readonly believedMs: number
  /** The approximate size in bytes; at least 1. */
  readonly size: number
}

interface TokenEntry<T> extends CachedToken<T> {
  /**
   * Until when the result is believed, on the monotonic clock. The wall clock alone would believe a revoked token for
   * as long as that clock is set back.
   */
  readonly believedUntil: number
}

// Only good tokens are cached, so only an issuer can fill it.
const limits = { entries: 10_000, bytes: 32 * 1024 * 1024 } as const

/**
 * Caches the results of verified tokens, so that each is verified once and not for every request. The key is never the
 * token itself: a dump of the memory shows none. Whether the token is bound to its sender, and entitled to the
 * operation, is not cached but checked each time.
 */
export class TokenCache<T extends object> {
  readonly #isStillValid: (value: T) => boolean
  readonly #tokens: LRUCache<string, TokenEntry<T>>
  readonly #pending = new Map<string, Promise<T>>()

  /** `isStillValid` tells whether what the token was verified with still holds. */
  constructor(isStillValid: (value: T) => boolean, entries: number = limits.entries) {
    this.#isStillValid = isStillValid
    this.#tokens = new LRUCache({ max: entries, maxSize: limits.bytes })
  }

  find(digest: string): T | null {
    const cached = this.#tokens.get(digest)
    if (cached === undefined) return null
    if (isBelieved(cached) && this.#isStillValid(cached.value)) return cached.value
    this.#tokens.delete(digest)
    return null
  }

  /** Verifies a token, once for all requests that bring it at the same time. */
  load(digest: string, verify: () => Promise<CachedToken<T>>): Promise<T> {
    const pending = this.#pending.get(digest)
    if (pending !== undefined) return pending
    const loading = verify()
      .then((cached) => {
        const believedMs = Math.min(cached.believedMs, cached.expiresAt - epochMs())
        const entry = { ...cached, believedUntil: now() + believedMs }
        if (isBelieved(entry)) this.#tokens.set(digest, entry, { size: cached.size })
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

const isBelieved = ({ believedUntil, expiresAt }: TokenEntry<unknown>): boolean =>
  believedUntil > now() && expiresAt > epochMs()

/**
 * The largest length of a token that is verified or introspected. A longer one is no token: all fields together have
 * 32 KiB by default, and each byte is hashed and decoded, or sent to a server.
 */
export const maxTokenLength = 8192

export const tokenDigest = (token: string): string => hash('sha256', token, 'base64url')
