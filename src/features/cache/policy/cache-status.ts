import type { BypassReason } from './cache-request.ts'
import type { FwdReason } from './reuse.ts'
import type { NotStoredReason } from './storability.ts'

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
