import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { epochMs, now } from '../../../core/lib/clock.ts'

export interface CachedToken<T> {
  readonly value: T
  /** In milliseconds since the epoch; infinite: the token does not expire. */
  readonly expiresAt: number
  /** How long the result may be cached, in milliseconds; infinite: until the token expires. */
  readonly believedMs: number
  /** The approximate size in bytes; at least 1. */
  readonly size: number
}

interface TokenEntry<T> extends CachedToken<T> {
  /** On the monotonic clock: with the wall clock alone, setting that clock back would prolong a revoked token. */
  readonly believedUntil: number
}

// Only valid tokens are cached, so only an issuer can fill it.
const limits = { entries: 10_000, bytes: 32 * 1024 * 1024 } as const

/** By a digest, so that a memory dump shows no token. Sender and operation are checked for each request. */
export class TokenCache<T extends object> {
  readonly #isStillValid: (value: T) => boolean
  readonly #tokens: LRUCache<string, TokenEntry<T>>
  readonly #pending = new Map<string, Promise<T>>()

  /** `isStillValid`: whether the key that verified the token is still valid. */
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

  /** Verifies a token once for all concurrent requests. */
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

/** A longer token is neither verified nor introspected: each byte is hashed and decoded, or sent to a server. */
export const maxTokenLength = 8192

export const tokenDigest = (token: string): string => hash('sha256', token, 'base64url')
