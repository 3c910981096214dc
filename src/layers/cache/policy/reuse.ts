import type { CacheRequest } from './cache-request.ts'
import { isServerError } from './status-codes.ts'
import { currentAge, type StoredHead } from './stored-head.ts'

/** Says why a request went forward, in the tokens of RFC 9211 §2.2: nobody forwards for `miss` or `partial`. */
export type FwdReason = 'bypass' | 'uri-miss' | 'vary-miss' | 'request' | 'stale'

/** Is what becomes of a request for which something is stored: served from it, fetched (validated, where it has a validator), or refused with 504. */
export type ReuseDecision =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'stale'; readonly revalidate: boolean }
  | { readonly kind: 'fetch'; readonly why: FwdReason }
  | { readonly kind: 'refuse' }

/** Says what is wrong with the upstream: it could not be reached, or dropped the connection before the head; or it answered 500, 502, 503 or 504. */
export type UpstreamTrouble = 'disconnected' | 'error'

const fresh: ReuseDecision = { kind: 'fresh' }
const stale: ReuseDecision = { kind: 'stale', revalidate: false }
const staleWhileRevalidated: ReuseDecision = { kind: 'stale', revalidate: true }
const fetchStale: ReuseDecision = { kind: 'fetch', why: 'stale' }
const fetchRequested: ReuseDecision = { kind: 'fetch', why: 'request' }
const unsatisfiable: ReuseDecision = { kind: 'refuse' }

/** Decides what becomes of a request for which this is stored (RFC 9111 §4). */
export const decideReuse = (head: StoredHead, request: CacheRequest, now: number): ReuseDecision => {
  const isFresh = now < head.freshUntil && !head.noCache
  if (!head.noCache && satisfiesRequest(head, request, now)) {
    if (isFresh) return fresh
    // RFC 5861 §3: what is served stale is validated behind the client's back, whoever allowed it.
    const revalidate = now < head.staleWhileRevalidateUntil
    if (head.mayBeStale && acceptsStale(head, request, now, revalidate))
      return revalidate ? staleWhileRevalidated : stale
  }
  if (request.onlyIfCached) return unsatisfiable // §5.2.1.7
  return isFresh ? fetchRequested : fetchStale
}

/** Tells whether what is stored may be served because the upstream is in trouble (RFC 9111 §4.2.4, RFC 5861 §4). */
export const mayServeStale = (
  head: StoredHead,
  request: CacheRequest,
  trouble: UpstreamTrouble,
  now: number,
): boolean => {
  if (!head.mayBeStale) return false
  // The client itself may say so, and it knows what else it has asked for.
  if (request.staleIfErrorMs !== null && now - head.freshUntil <= request.staleIfErrorMs) return true
  const allowed = now < head.staleIfErrorUntil || (trouble === 'disconnected' && now < head.staleWhenDisconnectedUntil)
  return satisfiesRequest(head, request, now) && acceptsStale(head, request, now, allowed)
}

/**
 * Tells whether a stored answer keeps its place when one of `status` comes that could be stored as well: a server error does not end what may
 * stand in for server errors (RFC 5861 §4), for all clients or for this one.
 */
export const keepsPlace = (head: StoredHead, status: number, request: CacheRequest, now: number): boolean => {
  if (!isServerError(status) || isServerError(head.status)) return false
  return (!head.noCache && now < head.staleIfErrorUntil) || mayServeStale(head, request, 'error', now)
}

/** Tells whether a request asks for nothing better, how stale it is aside (RFC 9111 §5.2.1). */
const satisfiesRequest = (head: StoredHead, request: CacheRequest, now: number): boolean => {
  if (request.noCache) return false
  if (request.maxAgeMs !== null && currentAge(head, now) > request.maxAgeMs) return false
  if (request.minFreshMs !== null && now + request.minFreshMs > head.freshUntil) return false
  // Whoever sends credentials is not answered by a guess.
  return !(head.isHeuristic && request.hasOtherCredentials)
}

/**
 * Tells whether a client takes what is stale: where it says how stale, that counts (§5.2.1.2); where it says how old, nothing that is stale
 * (§5.2.1.1); else, where somebody else allows it.
 */
const acceptsStale = (head: StoredHead, request: CacheRequest, now: number, allowed: boolean): boolean => {
  if (request.maxStaleMs !== null) return now - head.freshUntil <= request.maxStaleMs
  return request.maxAgeMs === null && allowed
}
