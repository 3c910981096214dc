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

export interface CacheDeps {
  readonly next: Handler
  readonly rules: CacheRules
  readonly partition: CachePartition
  readonly events: CacheEvents
}

export interface FetchContext extends CacheDeps, Pick<CacheMiss, 'key' | 'stored' | 'tierLookup'> {
  /** A revalidation in the background. */
  readonly isDetached: boolean
  /** Other exchanges cannot wait for it. */
  readonly isExclusive: boolean
  /** Called once, when further exchanges cannot join. */
  onClosed(): void
}

export interface CacheMiss {
  readonly exchange: Exchange
  readonly request: CacheRequest
  readonly key: string
  readonly at: number
  readonly stored: StoredResponse | null
  /** Vary fields of the latest response under the key; null: none is stored. */
  readonly varies: readonly string[] | null
  readonly why: FwdReason
  readonly tierLookup: TierLookup | null
  /** How often the request may still wait for another client's fetch. */
  readonly joinsLeft: number
}

export type BackgroundRevalidation = Pick<CacheMiss, 'exchange' | 'request' | 'key' | 'at'> & {
  readonly stored: StoredResponse
}

export interface CacheEvents {
  /** The policy threw: a bug, so the request is forwarded. */
  onError(error: unknown): void
  onRevalidationFailed(error: GatewayError): void
}

/** A response that several exchanges may use. The initiator gets `fields` as received. */
export interface SharedResult {
  readonly kind: 'shared'
  readonly head: StoredHead
  readonly fields: HeaderFields
  readonly body: StoredBody | BodyTee
  readonly isValidated: boolean
  /** Also for the exchanges that waited, because it is storable. */
  readonly isShareable: boolean
  readonly isStored: boolean
  readonly notStored: NotStoredReason | null
}

/** `unshared`: for the initiator alone. After `none`, each exchange sends its own request. */
export type FetchResult =
  | SharedResult
  | { readonly kind: 'unshared'; readonly response: ProxyResponse; readonly notStored: NotStoredReason | null }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly error: GatewayError }

export interface SharedTier {
  /** `key`: the key in memory. Null, or while the tier is unavailable: only `remove` has an effect. */
  lookUp(cacheKey: CacheKey, key: string | null, request: CacheRequest): TierLookup
}

export interface TierLookup {
  /** Resolves when a later response is loaded, or at the time limit; never rejects. Null: the tier is not read. */
  readonly loaded: Promise<void> | null
  store(entry: StoredResponse): void
  /** The upstream no longer sends this response. */
  remove(): void
}
