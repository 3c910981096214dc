import type { CacheRequest } from './policy/cache-request.ts'
import type { CacheKey } from './store/reservation.ts'
import type { StoredResponse } from './store/stored-response.ts'

export interface SharedTier {
  /** Looks a key up there, unless the tier is unavailable. `key` is the one in memory. */
  lookUp(cacheKey: CacheKey, key: string, request: CacheRequest): TierLookup
  /** Stands in for a lookup that is not made: nothing is loaded or written, and what is taken back is removed. */
  skipLookup(cacheKey: CacheKey, request: CacheRequest): TierLookup
}

export interface TierLookup {
  /**
   * Resolves when a later response than memory had is loaded, or the lookup has taken long enough. Never rejects. Null:
   * the tier is not asked.
   */
  readonly loaded: Promise<void> | null
  /** Writes the response that was fetched instead, in the background. */
  store(entry: StoredResponse): void
  /** Removes what is there: the upstream no longer says it. */
  remove(): void
}
