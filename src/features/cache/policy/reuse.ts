import type { BypassReason, CacheRequest } from './cache-request.ts'
import { isServerError } from './status-codes.ts'
import type { NotStoredReason } from './storability.ts'
import { currentAge, type StoredHead } from './stored-head.ts'

/** RFC 9211 §2.2. The gateway never forwards for `miss` or `partial`. */
export type FwdReason = 'bypass' | 'uri-miss' | 'vary-miss' | 'request' | 'stale'

/** `fetch`: validates if there is a validator. `not-cached`: rejects with 504. */
type ReuseDecision =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'stale'; readonly revalidate: boolean }
  | { readonly kind: 'fetch'; readonly why: FwdReason }
  | { readonly kind: 'not-cached' }

/** `disconnected`: no connection, or lost before the head. `error`: 500, 502, 503 or 504. */
export type UpstreamTrouble = 'disconnected' | 'error'

const fresh: ReuseDecision = { kind: 'fresh' }
const stale: ReuseDecision = { kind: 'stale', revalidate: false }
const staleWhileRevalidated: ReuseDecision = { kind: 'stale', revalidate: true }
const fetchStale: ReuseDecision = { kind: 'fetch', why: 'stale' }
const fetchRequested: ReuseDecision = { kind: 'fetch', why: 'request' }
const notCached: ReuseDecision = { kind: 'not-cached' }

/** RFC 9111 §4 */
export const decideReuse = (head: StoredHead, request: CacheRequest, now: number): ReuseDecision => {
  const isFresh = now < head.freshUntil && !head.noCache
  if (!head.noCache && satisfiesRequest(head, request, now)) {
    if (isFresh) return fresh
    // RFC 5861 §3; but a response to a no-store request may not be stored (RFC 9111 §5.2.1.5).
    const isRevalidatable = now < head.staleWhileRevalidateUntil
    if (head.mayBeStale && acceptsStale(head, request, now, isRevalidatable))
      return isRevalidatable && !request.noStore ? staleWhileRevalidated : stale
  }
  if (request.onlyIfCached) return notCached // §5.2.1.7
  return isFresh ? fetchRequested : fetchStale
}

/** RFC 9111 §4.2.4, RFC 5861 §4 */
export const mayServeStale = (
  head: StoredHead,
  request: CacheRequest,
  trouble: UpstreamTrouble,
  now: number,
): boolean => {
  if (!head.mayBeStale) return false
  // The client may allow it despite its other directives.
  if (request.staleIfErrorMs !== null && now - head.freshUntil <= request.staleIfErrorMs) return true
  const allowed = now < head.staleIfErrorUntil || (trouble === 'disconnected' && now < head.staleWhenDisconnectedUntil)
  return satisfiesRequest(head, request, now) && acceptsStale(head, request, now, allowed)
}

/** RFC 5861 §4: a server error does not replace a response that may be served in its place. */
export const keepsPlace = (head: StoredHead, status: number, request: CacheRequest, now: number): boolean => {
  if (!isServerError(status) || isServerError(head.status)) return false
  return (!head.noCache && now < head.staleIfErrorUntil) || mayServeStale(head, request, 'error', now)
}

/** RFC 9111 §5.2.1, apart from staleness. */
const satisfiesRequest = (head: StoredHead, request: CacheRequest, now: number): boolean => {
  if (request.noCache) return false
  if (request.maxAgeMs !== null && currentAge(head, now) > request.maxAgeMs) return false
  if (request.minFreshMs !== null && now + request.minFreshMs > head.freshUntil) return false
  // A request with credentials gets no heuristically fresh response.
  return !(head.isHeuristic && request.hasOtherCredentials)
}

/** RFC 9111 §5.2.1.2, §5.2.1.1: the client's max-stale decides, or max-age alone forbids; otherwise `allowed` does. */
const acceptsStale = (head: StoredHead, request: CacheRequest, now: number, allowed: boolean): boolean => {
  if (request.maxStaleMs !== null) return now - head.freshUntil <= request.maxStaleMs
  return request.maxAgeMs === null && allowed
}

/** RFC 9211 §2.8. `range`: the client asked for a part, so no whole response was fetched. */
export type CacheStatusDetail = NotStoredReason | BypassReason | 'range'

/** `status` null: the client gets the upstream's status. `ttlMs` negative: stale; null: not a stored response. */
export interface ForwardOutcome {
  readonly why: FwdReason
  readonly status?: number | null
  readonly stored?: boolean
  readonly collapsed?: boolean
  readonly ttlMs?: number | null
  readonly detail?: CacheStatusDetail | null
}

/** RFC 9211 §2: a line of its own appends to the upstream's. RFC 9651 §4.1.4, §4.1.7: needs no quotes. */
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

/** Neither `hit` nor `fwd`: an only-if-cached request without a stored response (RFC 9111 §5.2.1.7). */
export const notCachedStatus = 'lender-gateway'

/** Rounded down: no response looks fresher. Within the range of RFC 9651 §3.3.1. */
const seconds = (ms: number): number => Math.max(-1e15 + 1, Math.min(1e15 - 1, Math.floor(ms / 1000)))
