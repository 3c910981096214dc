import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { epochMs, now } from '../../../core/lib/clock.ts'

export interface CachedToken<T> {
  readonly value: T
  /** Milliseconds since the epoch; infinite: never. */
  readonly expiresAt: number
  /** Milliseconds; infinite: until the token expires. */
  readonly believedMs: number
  /** Approximate bytes, at least 1. */
  readonly size: number
}

// Valid tokens only: attackers cannot fill it.
const limits = { entries: 10_000, bytes: 32 * 1024 * 1024 } as const

/** By a digest: a memory dump has no tokens. `isStillValid`: whether the issuer still has the key. */
export const createTokenCache = <T extends object>(
  isStillValid: (value: T) => boolean,
  entries: number = limits.entries,
) => {
  /** `believedUntil`: monotonic, because setting the wall clock back would prolong a revoked token. */
  const tokens = new LRUCache<string, CachedToken<T> & { readonly believedUntil: number }>({
    max: entries,
    maxSize: limits.bytes,
  })
  const pending = new Map<string, Promise<T>>()

  const verifyAndCache = async (digest: string, verify: () => Promise<CachedToken<T>>): Promise<T> => {
    const cached = await verify()
    const believedMs = Math.min(cached.believedMs, cached.expiresAt - epochMs())
    if (believedMs > 0) tokens.set(digest, { ...cached, believedUntil: now() + believedMs }, { size: cached.size })
    return cached.value
  }

  return {
    find(digest: string): T | null {
      const cached = tokens.get(digest)
      if (cached === undefined) return null
      const isBelieved = cached.believedUntil > now() && cached.expiresAt > epochMs()
      if (isBelieved && isStillValid(cached.value)) return cached.value
      tokens.delete(digest)
      return null
    },
    /** Verifies once for all concurrent requests. */
    load(digest: string, verify: () => Promise<CachedToken<T>>): Promise<T> {
      const known = pending.get(digest)
      if (known !== undefined) return known
      const loading = verifyAndCache(digest, verify).finally(() => pending.delete(digest))
      pending.set(digest, loading)
      return loading
    },
    get size(): number {
      return tokens.size
    },
  }
}

/** Longer tokens are rejected unread: each byte costs hashing, decoding or sending. */
export const maxTokenLength = 8192

export const tokenDigest = (token: string): string => hash('sha256', token, 'base64url')
