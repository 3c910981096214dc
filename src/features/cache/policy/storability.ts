import { type HeaderFields, omitFields } from '../../../core/exchange/header-fields.ts'
import type { CacheRequest, CacheRules } from './cache-request.ts'
import {
  allows,
  type CacheDirective,
  fieldLines,
  hasValidator,
  isWeak,
  matchesStrongly,
  matchesWeakly,
  parseDeltaMs,
  parseValidators,
  restricts,
  type Validators,
} from './fields.ts'
import { type ReceivedHead, type ResponseMetadata, type ResponseTimes, readDate, readMetadata } from './freshness.ts'
import { isStorableStatus, isUnderstoodStatus } from './status-codes.ts'
import { createStoredHead, type StoredHead, servableUntil, varyNames } from './stored-head.ts'

/** `detail` of Cache-Status (RFC 9211 §2.8). Tells clients no more than the response and its length do. */
export type NotStoredReason =
  | 'status'
  | 'no-store'
  | 'private'
  | 'authorization'
  | 'set-cookie'
  | 'vary'
  | 'no-lifetime'
  | 'credentials'
  | 'already-stale'
  | 'bad-length'
  | 'may-be-cut'
  | 'too-large'
  | 'no-room'
  | 'stale-if-error'

export type Storability = { readonly head: StoredHead } | { readonly head: null; readonly notStored: NotStoredReason }

/** These come from one request's credentials, and say nothing of responses to requests without credentials. */
export const isReasonOfRequest = (why: NotStoredReason): boolean => why === 'authorization' || why === 'credentials'

const notStorable = (why: NotStoredReason): Storability => ({ head: null, notStored: why })

/** RFC 9111 §3. Ignores CDN-Cache-Control (RFC 9213) and Pragma. */
export const assessStorability = (
  request: CacheRequest,
  response: ReceivedHead,
  times: ResponseTimes,
  rules: CacheRules,
): Storability => {
  const metadata = readMetadata(response, times.receivedEpoch, rules)
  const forbidden = forbiddenBy(request, response, metadata)
  if (forbidden !== null) return notStorable(forbidden)
  const varies = varyNames(response.fields)
  if (varies === '*') return notStorable('vary') // RFC 9111 §4.1: matches no request
  const head = createStoredHead(request, response, metadata, varies, times, rules)
  // Only clients that accept any staleness could use it.
  if (!hasValidator(head) && (head.noCache || head.receivedAt >= servableUntil(head)))
    return notStorable('already-stale')
  // A request with credentials needs explicit permission (§3.5) or freshness. The reason only if there is no other.
  if (request.hasAuthorization && !allowsAuthorized(metadata.directives)) return notStorable('authorization')
  return request.hasOtherCredentials && metadata.explicitMs === null ? notStorable('credentials') : { head }
}

const forbiddenBy = (
  request: CacheRequest,
  { status, fields }: ReceivedHead,
  { directives, isPrivate, explicitMs, heuristicMs, noCache, validators }: ResponseMetadata,
): NotStoredReason | null => {
  if (!isStorableStatus(status)) return 'status'
  // About the range of this request.
  if (status === 416 && request.range !== null) return 'status'
  // RFC 9111 §5.2.2.3: with must-understand, a cache that knows the status ignores no-store.
  if (restricts(directives, 'must-understand') && !isUnderstoodStatus(status)) return 'status'
  if (restricts(directives, 'no-store') && !allows(directives, 'must-understand')) return 'no-store'
  if (request.noStore) return 'no-store' // §5.2.1.5
  if (isPrivate) return 'private'
  // Stricter than RFC 9111 §7.3, which only warns: a cookie is for one client unless the response is public.
  if (fieldLines(fields, 'set-cookie').length > 0 && !allows(directives, 'public')) return 'set-cookie'
  const hasLifetime = explicitMs !== null || heuristicMs !== null || (noCache && hasValidator(validators))
  return hasLifetime ? null : 'no-lifetime'
}

const allowsAuthorized = (directives: readonly CacheDirective[]): boolean =>
  allows(directives, 'must-revalidate') ||
  allows(directives, 'public') ||
  Number.isFinite(parseDeltaMs(directives, 's-maxage'))

/** RFC 9111 §4.3.1. Only for a request without conditions: otherwise a 304 could be about the client's copy. */
export const conditionFields = ({ etag, lastModified }: Validators): HeaderFields => {
  const fields: string[] = []
  if (etag !== null) fields.push('If-None-Match', etag)
  if (lastModified !== null) fields.push('If-Modified-Since', lastModified)
  return fields
}

/** `reused`: served once and left unchanged. `other`: about another response, so the gateway fetches again. */
type FreshenResult =
  | { readonly kind: 'updated'; readonly stored: Storability; readonly fields: HeaderFields }
  | { readonly kind: 'reused'; readonly fields: HeaderFields }
  | { readonly kind: 'other' }

/** RFC 9111 §3.2, §4.3.4. A response whose 304 forbids storing still serves `request`. */
export const freshenStored = (
  head: StoredHead,
  request: CacheRequest,
  notModified: ReceivedHead,
  times: ResponseTimes,
  rules: CacheRules,
): FreshenResult => {
  const isMeant = isConfirmed(head, parseValidators(notModified.fields, null, times.receivedEpoch))
  if (isMeant === false) return { kind: 'other' }
  if (isMeant === null) return { kind: 'reused', fields: head.fields }
  const fields = updateFields(head.fields, notModified.fields, times.receivedEpoch)
  const stored = assessStorability(request, { status: head.status, reason: head.reason, fields }, times, rules)
  return { kind: 'updated', stored, fields }
}

/** RFC 9111 §4.3.4. Null: the 304 has no validator. */
const isConfirmed = (head: StoredHead, { etag, lastModifiedAt }: Validators): boolean | null => {
  if (etag !== null && !isWeak(etag)) return head.etag !== null && matchesStrongly(etag, head.etag)
  if (etag !== null && head.etag !== null) return matchesWeakly(etag, head.etag)
  if (lastModifiedAt !== null) return lastModifiedAt === head.lastModifiedAt
  return etag === null ? null : false
}

// RFC 9111 §3.2, RFC 9530 §2: a 304 keeps the fields of the stored body.
const bodyFields = ['content-length', 'content-encoding', 'content-range', 'content-digest', 'content-md5']

/** A 304 without Date counts as generated on arrival. */
const updateFields = (stored: HeaderFields, received: HeaderFields, now: number): HeaderFields => {
  const replacements = omitFields(received, new Set(bodyFields))
  const replaced = new Set(replacements.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()))
  if (readDate(replacements, now) === null) replaced.add('date')
  return [...omitFields(stored, replaced), ...replacements]
}
