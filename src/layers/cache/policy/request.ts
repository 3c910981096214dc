import type { Fields } from '../../../fields.ts'
import type { CacheRules } from './rules.ts'

/** Is what a request asks of the cache, read once. Durations are milliseconds; null: it does not say. */
export interface CacheRequest {
  /** The request's fields, as they came. */
  readonly fields: Fields
  /** The Host that was asked for: not among the fields, and yet an answer may vary by it. */
  readonly authority: string
  readonly hasBody: boolean
  readonly hasAuthorization: boolean
  /** Whether there are credentials other than Authorization: a Cookie, a certificate, a field of `credentials`. */
  readonly hasOtherCredentials: boolean
  /** RFC 9111 §5.2.1.4, or `Pragma: no-cache` where there is no Cache-Control. */
  readonly noCache: boolean
  /** §5.2.1.5 */
  readonly noStore: boolean
  /** §5.2.1.7 */
  readonly onlyIfCached: boolean
  /** §5.2.1.1 */
  readonly maxAgeMs: number | null
  /** §5.2.1.3 */
  readonly minFreshMs: number | null
  /** §5.2.1.2; infinite without an argument. */
  readonly maxStaleMs: number | null
  /** RFC 5861 §4 */
  readonly staleIfErrorMs: number | null
  /** Whether it has If-Match or If-Unmodified-Since: the upstream alone can tell (RFC 9111 §4.3.2). */
  readonly hasUpstreamCondition: boolean
  /** Several lines are joined with a comma. */
  readonly ifNoneMatch: string | null
  readonly ifModifiedSince: string | null
  readonly range: string | null
  readonly ifRange: string | null
  /** Whether it asks nothing at all: whatever is fresh will do, and as a whole. */
  readonly isPlain: boolean
}

/** Is what stands beside a request's fields. */
export interface RequestFacts {
  readonly authority: string
  readonly hasBody: boolean
  /** Whether the client has shown a certificate. */
  readonly hasCertificate: boolean
}

/** Says why a request passes the cache by, and is forwarded as it came. */
export type Bypass = 'credentials' | 'body' | 'condition' | 'no-store'

/** Reads a request, in one pass. */
export const readRequest = (_fields: Fields, _facts: RequestFacts, _rules: CacheRules): CacheRequest => {
  throw new Error('not written yet')
}

/** Tells whether a request passes the cache by; null: it does not. */
export const bypassReason = (_request: CacheRequest, _rules: CacheRules): Bypass | null => {
  throw new Error('not written yet')
}

/** Takes out the client's own conditions and its Range: what is fetched for the cache is asked for as a whole. */
export const unconditional = (_fields: Fields): string[] => {
  throw new Error('not written yet')
}
