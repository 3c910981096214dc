import type { Exchange, Handler, ProxyResponse } from '../../core/exchange/exchange.ts'
import type { GatewayError } from '../../core/exchange/failures/errors.ts'
import type { FailureKind } from '../../core/exchange/failures/kinds.ts'
import type { HeaderFields } from '../../core/exchange/header-fields.ts'
import type { CachePartition } from './partition.ts'
import type { CacheRequest, CacheRules } from './policy/cache-request.ts'
import type { FwdReason, UpstreamTrouble } from './policy/reuse.ts'
import type { NotStoredReason } from './policy/storability.ts'
import type { StoredHead } from './policy/stored-head.ts'
import type { BodyTee } from './store/body-tee.ts'
import type { CacheKey, StoredBody, StoredResponse } from './store/stored-response.ts'

export interface FetchWaiter {
  readonly request: CacheRequest
  onResult(result: FetchResult): void
}

export interface FetchContext {
  readonly next: Handler
  readonly rules: CacheRules
  readonly partition: CachePartition
  readonly events: CacheEvents
  readonly key: string
  readonly stored: StoredResponse | null
  /** The lookup in the shared tier before the fetch; null: there is no tier. */
  readonly tierLookup: TierLookup | null
  /** Whether no exchange waits for it: it refreshes what is stored. */
  readonly isDetached: boolean
  /** Whether no other exchange may wait for it. */
  readonly isExclusive: boolean
  /** Called once, when no exchange can join it any more. */
  onClosed(): void
}

export interface CacheMiss {
  readonly exchange: Exchange
  readonly request: CacheRequest
  readonly key: string
  /** When it was looked up, on the wall clock. */
  readonly at: number
  readonly stored: StoredResponse | null
  /** What the latest response under the key varies by; null: there is none. */
  readonly varies: readonly string[] | null
  readonly why: FwdReason
  readonly tierLookup: TierLookup | null
  /** How often it may still wait for another's fetch. */
  readonly joinsLeft: number
}

export type BackgroundRevalidation = Pick<CacheMiss, 'exchange' | 'request' | 'key' | 'at'> & {
  readonly stored: StoredResponse
}

export interface CacheEvents {
  /** Called when the policy has thrown, which it never should: the request is forwarded as if there were no cache. */
  onError(error: unknown): void
  onRevalidationFailed(error: GatewayError): void
}

/** A response that other exchanges may use too. The exchange that began the fetch gets `fields`, as they came. */
export interface SharedResult {
  readonly kind: 'shared'
  readonly head: StoredHead
  readonly fields: HeaderFields
  readonly body: StoredBody | BodyTee
  /** Whether it is the stored response, which the upstream says is still good. */
  readonly isValidated: boolean
  /** Whether the exchanges that waited may use it: it may be stored. */
  readonly isShareable: boolean
  /** Whether it is stored, or is to be when its body has ended. */
  readonly isStored: boolean
  readonly notStored: NotStoredReason | null
}

/**
 * The result of a fetch, for those who wait: a response that all may use; a response for the initiator alone; nothing
 * of use, so that each has to ask for itself; or a failure.
 */
export type FetchResult =
  | SharedResult
  | { readonly kind: 'unshared'; readonly response: ProxyResponse; readonly notStored: NotStoredReason | null }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly error: GatewayError }

export const statusOfResult = (result: FetchResult): number | null => {
  if (result.kind === 'unshared') return result.response.status
  return result.kind === 'shared' ? result.head.status : null
}

export const troubleOfResult = (result: FetchResult): UpstreamTrouble | null => {
  if (result.kind === 'failed') return troubleOfError(result.error)
  const status = statusOfResult(result)
  return status === null ? null : troubleOfStatus(status)
}

// RFC 9111 §4.2.4: the upstream cannot be reached, or is not tried because it could not be before. As far as the
// gateway knows, nothing was processed.
const disconnectedKinds: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'connect-failed',
  'connect-timeout',
  'tls-failed',
  'reset-before-headers',
  'no-healthy-endpoint',
  'circuit-open',
])

// RFC 5861 §4 names these four, whether the upstream says so or the gateway in its stead.
const errorStatuses: ReadonlySet<number> = new Set([500, 502, 503, 504])

export const troubleOfStatus = (status: number): UpstreamTrouble | null => (errorStatuses.has(status) ? 'error' : null)

/** Returns the trouble that a failure shows; null: it is the client's, and no stored response makes it better. */
export const troubleOfError = ({ kind, status }: GatewayError): UpstreamTrouble | null =>
  disconnectedKinds.has(kind) ? 'disconnected' : troubleOfStatus(status)

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
