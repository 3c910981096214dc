import type { Exchange, Handler, ProxyResponse } from '../../core/exchange/exchange.ts'
import type { GatewayError } from '../../core/exchange/failures/errors.ts'
import type { HeaderFields } from '../../core/exchange/header-fields.ts'
import type { CachePartition } from './partition.ts'
import type { CacheRequest, CacheRules } from './policy/cache-request.ts'
import type { FwdReason } from './policy/reuse.ts'
import type { NotStoredReason } from './policy/storability.ts'
import type { StoredHead } from './policy/stored-head.ts'
import type { BodyTee } from './store/body-tee.ts'
import type { CacheKey, StoredBody, StoredResponse } from './store/stored-response.ts'

/** What all requests of a layer share. */
export interface CacheDeps {
  readonly next: Handler
  readonly rules: CacheRules
  readonly partition: CachePartition
  readonly events: CacheEvents
}

export interface FetchContext extends CacheDeps, Pick<CacheMiss, 'key' | 'stored' | 'tierLookup'> {
  /** A revalidation that no exchange waits for. */
  readonly isDetached: boolean
  /** No other exchange may wait for it. */
  readonly isExclusive: boolean
  /** Called once, when no further exchange can join. */
  onClosed(): void
}

export interface CacheMiss {
  readonly exchange: Exchange
  readonly request: CacheRequest
  readonly key: string
  readonly at: number
  readonly stored: StoredResponse | null
  /** The Vary fields of the latest response under the key; null: none is stored. */
  readonly varies: readonly string[] | null
  readonly why: FwdReason
  /** Null: there is no shared tier. */
  readonly tierLookup: TierLookup | null
  /** How often the request may still wait for another client's fetch. */
  readonly joinsLeft: number
}

export type BackgroundRevalidation = Pick<CacheMiss, 'exchange' | 'request' | 'key' | 'at'> & {
  readonly stored: StoredResponse
}

export interface CacheEvents {
  /** The policy threw, which it never should: the request is forwarded. */
  onError(error: unknown): void
  onRevalidationFailed(error: GatewayError): void
}

/** A response that other exchanges may use too. The exchange that began the fetch gets `fields` as received. */
export interface SharedResult {
  readonly kind: 'shared'
  readonly head: StoredHead
  readonly fields: HeaderFields
  readonly body: StoredBody | BodyTee
  /** A 304 confirmed the stored response. */
  readonly isValidated: boolean
  /** The exchanges that waited may use the response, because it may be stored. */
  readonly isShareable: boolean
  /** Stored, or to be stored when its body has ended. */
  readonly isStored: boolean
  readonly notStored: NotStoredReason | null
}

/** For all that wait: `unshared` is for the initiator alone; after `none`, each sends its own request. */
export type FetchResult =
  | SharedResult
  | { readonly kind: 'unshared'; readonly response: ProxyResponse; readonly notStored: NotStoredReason | null }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly error: GatewayError }

export interface SharedTier {
  /** `key` is the key in memory. Null, or while the tier is unavailable: only `remove` has an effect. */
  lookUp(cacheKey: CacheKey, key: string | null, request: CacheRequest): TierLookup
}

export interface TierLookup {
  /** Resolves when a later response is loaded, or at the time limit; never rejects. Null: the tier is not asked. */
  readonly loaded: Promise<void> | null
  /** In the background. */
  store(entry: StoredResponse): void
  /** The upstream no longer sends this response. */
  remove(): void
}
