import type { BypassReason, CacheRequest } from './cache-request.ts'
import { isServerError } from './status-codes.ts'
import type { NotStoredReason } from './storability.ts'
import { currentAge, type StoredHead } from './stored-head.ts'

/** Why a request went forward, in the tokens of RFC 9211 §2.2. The gateway never forwards for `miss` or `partial`. */
export type FwdReason = 'bypass' | 'uri-miss' | 'vary-miss' | 'request' | 'stale'

/**
 * The decision about a request for which something is stored: served from it, fetched (validated, where it has a
 * validator), or rejected with 504.
 */
type ReuseDecision =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'stale'; readonly revalidate: boolean }
  | { readonly kind: 'fetch'; readonly why: FwdReason }
  | { readonly kind: 'not-cached' }

/**
 * The upstream's trouble: it could not be reached, or dropped the connection before the head; or its response was 500,
 * 502, 503 or 504.
 */
export type UpstreamTrouble = 'disconnected' | 'error'

const fresh: ReuseDecision = { kind: 'fresh' }
const stale: ReuseDecision = { kind: 'stale', revalidate: false }
const staleWhileRevalidated: ReuseDecision = { kind: 'stale', revalidate: true }
const fetchStale: ReuseDecision = { kind: 'fetch', why: 'stale' }
const fetchRequested: ReuseDecision = { kind: 'fetch', why: 'request' }
const notCached: ReuseDecision = { kind: 'not-cached' }

/** Decides about a request for which this response is stored (RFC 9111 §4). */
export const decideReuse = (head: StoredHead, request: CacheRequest, now: number): ReuseDecision => {
  const isFresh = now < head.freshUntil && !head.noCache
  if (!head.noCache && satisfiesRequest(head, request, now)) {
    if (isFresh) return fresh
    // RFC 5861 §3: what is served stale is validated in the background, whether client or upstream allowed it. But
    // nothing that comes of a request with no-store may be stored (§5.2.1.5).
    const isRevalidatable = now < head.staleWhileRevalidateUntil
    if (head.mayBeStale && acceptsStale(head, request, now, isRevalidatable))
      return isRevalidatable && !request.noStore ? staleWhileRevalidated : stale
  }
  if (request.onlyIfCached) return notCached // §5.2.1.7
  return isFresh ? fetchRequested : fetchStale
}

/** Tells whether a stored response may be served because the upstream is in trouble (RFC 9111 §4.2.4, RFC 5861 §4). */
export const mayServeStale = (
  head: StoredHead,
  request: CacheRequest,
  trouble: UpstreamTrouble,
  now: number,
): boolean => {
  if (!head.mayBeStale) return false
  // The client itself may allow it, and it knows its other directives.
  if (request.staleIfErrorMs !== null && now - head.freshUntil <= request.staleIfErrorMs) return true
  const allowed = now < head.staleIfErrorUntil || (trouble === 'disconnected' && now < head.staleWhenDisconnectedUntil)
  return satisfiesRequest(head, request, now) && acceptsStale(head, request, now, allowed)
}

/**
 * Tells whether a stored response keeps its place when a storable one of `status` comes: a server error does not
 * replace what may stand in for server errors (RFC 5861 §4), for all clients or for this one.
 */
export const keepsPlace = (head: StoredHead, status: number, request: CacheRequest, now: number): boolean => {
  if (!isServerError(status) || isServerError(head.status)) return false
  return (!head.noCache && now < head.staleIfErrorUntil) || mayServeStale(head, request, 'error', now)
}

/** Tells whether a response satisfies the request's directives, apart from staleness (RFC 9111 §5.2.1). */
const satisfiesRequest = (head: StoredHead, request: CacheRequest, now: number): boolean => {
  if (request.noCache) return false
  if (request.maxAgeMs !== null && currentAge(head, now) > request.maxAgeMs) return false
  if (request.minFreshMs !== null && now + request.minFreshMs > head.freshUntil) return false
  // A request with credentials gets no response of guessed freshness.
  return !(head.isHeuristic && request.hasOtherCredentials)
}

/**
 * Tells whether a client takes a stale response. If it says how stale, that counts (§5.2.1.2). If it says how old, it
 * takes none (§5.2.1.1). Otherwise `allowed` decides: the upstream or the configuration.
 */
const acceptsStale = (head: StoredHead, request: CacheRequest, now: number, allowed: boolean): boolean => {
  if (request.maxStaleMs !== null) return now - head.freshUntil <= request.maxStaleMs
  return request.maxAgeMs === null && allowed
}

/**
 * Why a response was not stored, as one of a fixed set of words (RFC 9211 §2.8). `range`: the client wanted a part, and
 * nothing whole was fetched.
 */
export type CacheStatusDetail = NotStoredReason | BypassReason | 'range'

export interface ForwardOutcome {
  readonly why: FwdReason
  /** The upstream's status, where the client gets another one; null: the same, or none. */
  readonly status?: number | null
  readonly stored?: boolean
  readonly collapsed?: boolean
  /** How long the response is still fresh, negative when it is stale; null: it is not of the cache. */
  readonly ttlMs?: number | null
  /** Why it was not stored; null: it was, or there is nothing to say. */
  readonly detail?: CacheStatusDetail | null
}

// No value needs quotes: all are whole numbers, or tokens, which serialise as themselves (RFC 9651 §4.1.4, §4.1.7).

/**
 * Writes the member of `Cache-Status` for a response from memory (RFC 9211 §2). As a line of its own, it is appended to
 * the upstream's.
 */
export const hitStatus = (ttlMs: number): string => `lender-gateway;hit;ttl=${seconds(ttlMs)}`

export const forwardedStatus = ({
  why,
  status = null,
  stored = false,
  collapsed = false,
  ttlMs = null,
  detail = null,
}: ForwardOutcome): string =>
  `lender-gateway;fwd=${why}` +
  (status === null ? '' : `;fwd-status=${status}`) +
  (stored ? ';stored' : '') +
  (collapsed ? ';collapsed' : '') +
  (ttlMs === null ? '' : `;ttl=${seconds(ttlMs)}`) +
  (detail === null ? '' : `;detail=${detail}`)

/** The member for a request that was neither: it wanted what is stored, and nothing was (RFC 9111 §5.2.1.7). */
export const notCachedStatus = 'lender-gateway'

/** Rounds down, so that the response never looks fresher, and into the range of an integer (RFC 9651 §3.3.1). */
const seconds = (ms: number): number => Math.max(-1e15 + 1, Math.min(1e15 - 1, Math.floor(ms / 1000)))
