import type { CacheRequest } from './request.ts'
import type { StoredHead } from './stored.ts'

/** Says why a request went forward: the tokens of RFC 9211 §2.2. */
export type FwdReason = 'bypass' | 'uri-miss' | 'vary-miss' | 'miss' | 'request' | 'stale' | 'partial'

/** Is what becomes of a request for which something is stored: served from it, fetched (validated, where it has a validator), or refused with 504. */
export type Reuse =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'stale'; readonly revalidate: boolean }
  | { readonly kind: 'fetch'; readonly why: FwdReason }
  | { readonly kind: 'refuse' }

/** Says what is wrong with the upstream: it could not be reached, or dropped the connection before the head; or it answered 500, 502, 503 or 504. */
export type Trouble = 'disconnected' | 'error'

/** Decides what becomes of a request for which this is stored (RFC 9111 §4). One whose `isPlain` is true is served whenever `now < freshUntil`. */
export const reuse = (_head: StoredHead, _request: CacheRequest, _now: number): Reuse => {
  throw new Error('not written yet')
}

/** Tells whether what is stored may be served because the upstream is in trouble (RFC 9111 §4.2.4, RFC 5861 §4). */
export const mayServeStale = (_head: StoredHead, _request: CacheRequest, _trouble: Trouble, _now: number): boolean => {
  throw new Error('not written yet')
}
