import { type HeaderFields, omitFields } from '../../../core/exchange/header-fields.ts'
import { formatHttpDate } from '../../../core/exchange/http1/http-date.ts'
import { copyText } from '../../../core/lib/buffers.ts'
import type { CacheRequest, CacheRules } from './cache-request.ts'
import {
  allows,
  type CacheDirective,
  fieldLines,
  hasValidator,
  isWeak,
  matchesStrongly,
  matchesWeakly,
  parseCacheControl,
  parseDeltaMs,
  parseValidators,
  restricts,
  type Validators,
} from './fields.ts'
import {
  initialAge,
  type ReceivedHead,
  type ResponseMetadata,
  type ResponseTimes,
  readDate,
  readMetadata,
} from './freshness.ts'
import { isServerError, isStorableStatus, isUnderstoodStatus } from './status-codes.ts'
import { headMemoryBytes, type StoredHead, selectingKey, servableUntil, varyNames } from './stored-head.ts'

/** `detail` of Cache-Status (RFC 9211 §2.8). Clients learn no more from these than from the response and its length. */
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

/** These depend on the request's credentials, and say nothing of responses stored for requests without credentials. */
export const isReasonOfRequest = (why: NotStoredReason): boolean => why === 'authorization' || why === 'credentials'

const notStorable = (why: NotStoredReason): Storability => ({ head: null, notStored: why })

/**
 * RFC 9111 §3. The request's credentials are the reason only if there is no other. CDN-Cache-Control (RFC 9213) and
 * Pragma in responses are not read.
 */
export const assessStorability = (
  request: CacheRequest,
  response: ReceivedHead,
  times: ResponseTimes,
  rules: CacheRules,
): Storability => {
  const directives = parseCacheControl(response.fields) ?? []
  const metadata = readMetadata(response, directives, times.receivedEpoch, rules)
  const forbidden =
    forbiddenBy(request, response.status, directives) ??
    privacyReason(response, metadata) ??
    (hasLifetime(metadata) ? null : 'no-lifetime')
  if (forbidden !== null) return notStorable(forbidden)
  const varies = varyNames(response.fields)
  if (varies === '*') return notStorable('vary') // RFC 9111 §4.1: matches no request
  const head = buildStoredHead(request, response, metadata, varies, times, rules)
  const why = isUseful(head) ? credentialsReason(request, metadata) : 'already-stale'
  return why === null ? { head } : notStorable(why)
}

const forbiddenBy = (
  request: CacheRequest,
  status: number,
  directives: readonly CacheDirective[],
): NotStoredReason | null => {
  if (!isStorableStatus(status)) return 'status'
  // It is about the part that this request asked for.
  if (status === 416 && request.range !== null) return 'status'
  // RFC 9111 §5.2.2.3: with must-understand, a cache that knows the status ignores no-store.
  if (restricts(directives, 'must-understand') && !isUnderstoodStatus(status)) return 'status'
  if (restricts(directives, 'no-store') && !allows(directives, 'must-understand')) return 'no-store'
  return request.noStore ? 'no-store' : null // §5.2.1.5
}

const privacyReason = (
  { fields }: ReceivedHead,
  { directives, isPrivate }: ResponseMetadata,
): NotStoredReason | null => {
  if (isPrivate) return 'private'
  // Stricter than RFC 9111 §7.3, which only warns: a cookie is for one client, unless the response is public.
  return fieldLines(fields, 'set-cookie').length > 0 && !allows(directives, 'public') ? 'set-cookie' : null
}

const hasLifetime = ({ explicitMs, heuristicMs, noCache, validators }: ResponseMetadata): boolean =>
  explicitMs !== null || heuristicMs !== null || (noCache && hasValidator(validators))

/** A request with credentials needs explicit permission or freshness. */
const credentialsReason = (
  request: CacheRequest,
  { directives, explicitMs }: ResponseMetadata,
): NotStoredReason | null => {
  if (request.hasAuthorization && !allowsAuthorized(directives)) return 'authorization'
  return request.hasOtherCredentials && explicitMs === null ? 'credentials' : null
}

/** RFC 9111 §3.5 */
const allowsAuthorized = (directives: readonly CacheDirective[]): boolean =>
  allows(directives, 'must-revalidate') ||
  allows(directives, 'public') ||
  Number.isFinite(parseDeltaMs(directives, 's-maxage'))

/** Only clients that accept any staleness could use another response. */
const isUseful = (head: StoredHead): boolean =>
  hasValidator(head) || (!head.noCache && head.receivedAt < servableUntil(head))

/** `varies`: the request fields that selected the response. */
const buildStoredHead = (
  request: CacheRequest,
  { status, reason, fields }: ReceivedHead,
  metadata: ResponseMetadata,
  varies: readonly string[],
  times: ResponseTimes,
  rules: CacheRules,
): StoredHead => {
  const { directives, date, noCache } = metadata
  const bornAt = times.receivedAt - initialAge(fields, date, times)
  const freshUntil = bornAt + (metadata.explicitMs ?? metadata.heuristicMs ?? 0)
  // RFC 9111 §4.2.4 allows it, but no client wants an older failure in place of a failure.
  const mayBeStale = !noCache && !forbidsStale(directives) && !isServerError(status)
  const staleFor = (ms: number): number => (mayBeStale ? freshUntil + ms : freshUntil)
  const head = {
    status,
    reason,
    fields: storableFields(fields, metadata),
    date,
    receivedAt: times.receivedAt,
    receivedEpoch: times.receivedEpoch,
    bornAt,
    freshUntil,
    isHeuristic: metadata.heuristicMs !== null,
    noCache,
    mayBeStale,
    staleWhileRevalidateUntil: staleFor(
      staleAllowance(directives, 'stale-while-revalidate', rules.staleWhileRevalidate),
    ),
    staleIfErrorUntil: staleFor(staleAllowance(directives, 'stale-if-error', rules.staleIfError)),
    staleWhenDisconnectedUntil: staleFor(rules.staleWhenDisconnected),
    varies,
    selecting: copyText(selectingKey(varies, request)),
    ...metadata.validators,
  }
  return { ...head, bytes: headMemoryBytes(head) }
}

/** RFC 9111 §4.2.4: each forbids serving stale; `s-maxage` implies `proxy-revalidate` (§5.2.2.10). */
const forbidsStale = (directives: readonly CacheDirective[]): boolean =>
  restricts(directives, 'must-revalidate') ||
  restricts(directives, 'proxy-revalidate') ||
  restricts(directives, 's-maxage')

/** RFC 5861 §3, §4: the response overrides the configuration; an unreadable directive allows nothing. */
const staleAllowance = (directives: readonly CacheDirective[], name: string, configuredMs: number | null): number => {
  const ms = parseDeltaMs(directives, name) ?? configuredMs ?? 0
  return Number.isNaN(ms) ? 0 : ms
}

/** RFC 9111 §3.1. Age is computed anew (§4), and a missing or invalid Date added (RFC 9110 §6.6.1). */
const storableFields = (fields: HeaderFields, { withheld, isDated, date }: ResponseMetadata): HeaderFields => {
  if (isDated) return omitFields(fields, new Set(['age', ...withheld]))
  return [...omitFields(fields, new Set(['age', 'date', ...withheld])), 'Date', formatHttpDate(date)]
}

/**
 * RFC 9111 §4.3.1. The client's own conditions must be removed first: otherwise a 304 could be about the client's copy.
 */
export const conditionFields = ({ etag, lastModified }: Validators): HeaderFields => {
  const fields: string[] = []
  if (etag !== null) fields.push('If-None-Match', etag)
  if (lastModified !== null) fields.push('If-Modified-Since', lastModified)
  return fields
}

/**
 * `updated`: to be stored if `stored` has a head. `reused`: served once and left as it is. `other`: the 304 is about
 * another response, so the gateway fetches without conditions.
 */
type FreshenResult =
  | { readonly kind: 'updated'; readonly stored: Storability; readonly fields: HeaderFields }
  | { readonly kind: 'reused'; readonly fields: HeaderFields }
  | { readonly kind: 'other' }

/** RFC 9111 §3.2, §4.3.4. A response that the 304 forbids to store still serves `request`. */
export const freshenStored = (
  head: StoredHead,
  request: CacheRequest,
  notModified: ReceivedHead,
  times: ResponseTimes,
  rules: CacheRules,
): FreshenResult => {
  const match = matchNotModified(head, parseValidators(notModified.fields, null, times.receivedEpoch))
  if (match === 'other') return { kind: 'other' }
  if (match === 'unnamed') return { kind: 'reused', fields: head.fields }
  const fields = updateFields(head.fields, notModified.fields, times.receivedEpoch)
  const stored = assessStorability(request, { status: head.status, reason: head.reason, fields }, times, rules)
  return { kind: 'updated', stored, fields }
}

/** RFC 9111 §4.3.4. `unnamed`: the 304 has no validator. */
const matchNotModified = (head: StoredHead, validators: Validators): 'stored' | 'other' | 'unnamed' => {
  const either = (matches: boolean): 'stored' | 'other' => (matches ? 'stored' : 'other')
  if (validators.etag !== null && !isWeak(validators.etag))
    return either(head.etag !== null && matchesStrongly(validators.etag, head.etag))
  if (validators.etag !== null && head.etag !== null) return either(matchesWeakly(validators.etag, head.etag))
  if (validators.lastModifiedAt !== null) return either(validators.lastModifiedAt === head.lastModifiedAt)
  return validators.etag === null ? 'unnamed' : 'other'
}

// RFC 9111 §3.2, RFC 9530 §2: a 304 does not replace the fields of the stored body.
const bodyFields = ['content-length', 'content-encoding', 'content-range', 'content-digest', 'content-md5']

/** Without a Date, the 304 counts as generated on arrival. */
const updateFields = (stored: HeaderFields, received: HeaderFields, now: number): HeaderFields => {
  const replacements = omitFields(received, new Set(bodyFields))
  const replaced = new Set(replacements.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()))
  if (readDate(replacements, now) === null) replaced.add('date')
  return [...omitFields(stored, replaced), ...replacements]
}
