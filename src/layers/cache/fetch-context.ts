import type { Exchange, Handler, ProxyResponse } from '../../exchange.ts'
import type { GatewayError } from '../../failures/errors.ts'
import type { FailureKind } from '../../failures/kinds.ts'
import type { HeaderFields } from '../../header-fields.ts'
import type { BodyTee } from './body-tee.ts'
import type { CacheKey } from './cache-store.ts'
import type { CachePartition } from './partition.ts'
import type { CacheRequest, CacheRules } from './policy/cache-request.ts'
import type { FwdReason, UpstreamTrouble } from './policy/reuse.ts'
import type { NotStoredReason } from './policy/storability.ts'
import type { StoredHead } from './policy/stored-head.ts'
import type { StoredBody, StoredResponse } from './stored-response.ts'

/** Is who waits for what a fetch brings. */
export interface FetchWaiter {
  readonly request: CacheRequest
  onResult(result: FetchResult): void
}

/** Is what a fetch is made from. */
export interface FetchContext {
  readonly next: Handler
  readonly rules: CacheRules
  readonly partition: CachePartition
  readonly events: CacheEvents
  readonly key: string
  /** What is stored and asked about; null: nothing is. */
  readonly stored: StoredResponse | null
  /** What the second level was asked before; null: there is none, or it was not asked. */
  readonly tierLookup: TierLookup | null
  /** Whether nobody waits for it: it is for what is stored. */
  readonly isDetached: boolean
  /** Whether nobody else may wait for it. */
  readonly isExclusive: boolean
  /** Is told once, when nobody can join it any more. */
  onClosed(): void
}

/** Is a request that nothing stored answers. */
export interface CacheMiss {
  readonly exchange: Exchange
  readonly request: CacheRequest
  readonly key: string
  /** When it was looked for, on the wall clock. */
  readonly at: number
  /** What is stored for it, to be asked about, or to stand in for a failure; null: nothing is. */
  readonly stored: StoredResponse | null
  /** What the latest answer under the key varies by; null: there is none. */
  readonly varies: readonly string[] | null
  readonly why: FwdReason
  /** What the second level was asked; null: there is none, or it was not asked. */
  readonly tierLookup: TierLookup | null
  /** How often it may still wait for what another has asked for. */
  readonly joinsLeft: number
}

/** Is what is served stale, and to whom. */
export type BackgroundRevalidation = Pick<CacheMiss, 'exchange' | 'request' | 'key' | 'at'> & {
  readonly stored: StoredResponse
}

/** Hears what no client is told. */
export interface CacheEvents {
  /** The policy has thrown, which it never should: the request is forwarded as if there were no cache. */
  onError(error: unknown): void
  /** What is stored could not be refreshed behind the clients' backs. */
  onRevalidationFailed(error: GatewayError): void
}

/** Is an answer that others may use too. Whoever asked for it first is answered with `fields`, as they came. */
export interface SharedResult {
  readonly kind: 'shared'
  readonly head: StoredHead
  readonly fields: HeaderFields
  readonly body: StoredBody | BodyTee
  /** Whether it is what was stored, which the upstream says is still good. */
  readonly isValidated: boolean
  readonly isStored: boolean
  /** Why it is not stored; null: it is, or there is nothing to say. */
  readonly notStored: NotStoredReason | null
}

/**
 * Is what a fetch has brought for those who wait for it: what all may use; an answer for the one alone who asked first; nothing that anybody can
 * use, so that each has to ask for himself; or a failure.
 */
export type FetchResult =
  | SharedResult
  | { readonly kind: 'alone'; readonly response: ProxyResponse; readonly notStored: NotStoredReason | null }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly error: GatewayError }

/** Tells the status that the upstream has answered; null: it has not. */
export const statusOfResult = (result: FetchResult): number | null => {
  if (result.kind === 'alone') return result.response.status
  return result.kind === 'shared' ? result.head.status : null
}

/** Tells what trouble of the upstream's it shows; null: none. */
export const troubleOfResult = (result: FetchResult): UpstreamTrouble | null => {
  if (result.kind === 'failed') return troubleOfError(result.error)
  const status = statusOfResult(result)
  return status === null ? null : troubleOfStatus(status)
}

// RFC 9111 §4.2.4: the upstream cannot be reached, or is not tried because it could not be before. Nothing was processed as far as anybody knows.
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

/** Tells what trouble an answer of the upstream is; null: none. */
export const troubleOfStatus = (status: number): UpstreamTrouble | null => (errorStatuses.has(status) ? 'error' : null)

/** Tells what trouble a failure is; null: it is the client's, and no answer makes it better. */
export const troubleOfError = ({ kind, status }: GatewayError): UpstreamTrouble | null =>
  disconnectedKinds.has(kind) ? 'disconnected' : troubleOfStatus(status)

/** Where several gateways find what one of them has stored. */
export interface SharedTier {
  /** Looks there for what memory does not answer; null: it cannot be asked. `key` is the one in memory. */
  lookUp(name: CacheKey, key: string, request: CacheRequest): TierLookup | null
}

/** One look at the second level, and what is told in turn of what came of it. */
export interface TierLookup {
  /** Resolves when what is there is in memory, as far as it is later than what was, or when it has been waited for long enough. Never rejects. */
  readonly loaded: Promise<void>
  /** Writes there what has come instead, behind everybody's back. */
  store(entry: StoredResponse): void
  /** Removes what is there: the upstream does not say it any more. */
  remove(): void
}
