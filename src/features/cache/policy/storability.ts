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

/**
 * Why a response is not stored: `detail` of Cache-Status (RFC 9211 §2.8). No word says more than the response itself,
 * or its length.
 */
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

/**
 * Tells whether the credentials of the request alone are why: the response says nothing of what is stored for requests
 * without them.
 */
export const isReasonOfRequest = (why: NotStoredReason): boolean => why === 'authorization' || why === 'credentials'

const notStorable = (why: NotStoredReason): Storability => ({ head: null, notStored: why })

/**
 * Decides whether a response may be stored (RFC 9111 §3), and computes its head. The credentials of the request are the
 * reason only where there is no other. CDN-Cache-Control (RFC 9213), and Pragma in responses, are not read.
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
  if (varies === '*') return notStorable('vary') // §4.1: it matches no request
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
  // It is about a part that this request alone has asked for.
  if (status === 416 && request.range !== null) return 'status'
  // §5.2.2.3: a cache that understands the status is to store what others are told not to.
  if (restricts(directives, 'must-understand') && !isUnderstoodStatus(status)) return 'status'
  if (restricts(directives, 'no-store') && !allows(directives, 'must-understand')) return 'no-store'
  return request.noStore ? 'no-store' : null // §5.2.1.5
}

const privacyReason = (
  { fields }: ReceivedHead,
  { directives, isPrivate }: ResponseMetadata,
): NotStoredReason | null => {
  if (isPrivate) return 'private'
  // Not of the RFC (§7.3 only warns of it): a cookie is for one client, unless the response is marked public.
  return fieldLines(fields, 'set-cookie').length > 0 && !allows(directives, 'public') ? 'set-cookie' : null
}

/** Tells whether a response has a lifetime, of its own or by the configuration, or can be validated each time. */
const hasLifetime = ({ explicitMs, heuristicMs, noCache, validators }: ResponseMetadata): boolean =>
  explicitMs !== null || heuristicMs !== null || (noCache && hasValidator(validators))

/** Returns which credentials of its request a response does not allow. Where there are any, a guess is not enough. */
const credentialsReason = (
  request: CacheRequest,
  { directives, explicitMs }: ResponseMetadata,
): NotStoredReason | null => {
  if (request.hasAuthorization && !allowsAuthorized(directives)) return 'authorization'
  return request.hasOtherCredentials && explicitMs === null ? 'credentials' : null
}

/** §3.5 */
const allowsAuthorized = (directives: readonly CacheDirective[]): boolean =>
  allows(directives, 'must-revalidate') ||
  allows(directives, 'public') ||
  Number.isFinite(parseDeltaMs(directives, 's-maxage'))

/**
 * Tells whether a response is of use to more than a client that accepts anything stale: served as it is, now or later,
 * or validated.
 */
const isUseful = (head: StoredHead): boolean =>
  hasValidator(head) || (!head.noCache && head.receivedAt < servableUntil(head))

/** `varies`: the request fields it was selected by. */
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
  // RFC 9111 §4.2.4 leaves it to the cache: in place of a failure, an older failure helps no client.
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

/** RFC 9111 §4.2.4: these forbid to serve it stale; `s-maxage` means `proxy-revalidate` as well (§5.2.2.10). */
const forbidsStale = (directives: readonly CacheDirective[]): boolean =>
  restricts(directives, 'must-revalidate') ||
  restricts(directives, 'proxy-revalidate') ||
  restricts(directives, 's-maxage')

/** The response's own directive counts before the configuration; an unreadable one allows nothing (RFC 5861 §3, §4). */
const staleAllowance = (directives: readonly CacheDirective[], name: string, configuredMs: number | null): number => {
  const ms = parseDeltaMs(directives, name) ?? configuredMs ?? 0
  return Number.isNaN(ms) ? 0 : ms
}

/**
 * Lists the stored fields (§3.1). Age is computed anew (§4), and a Date is added where none can be read (RFC 9110
 * §6.6.1).
 */
const storableFields = (fields: HeaderFields, { withheld, isDated, date }: ResponseMetadata): HeaderFields => {
  if (isDated) return omitFields(fields, new Set(['age', ...withheld]))
  return [...omitFields(fields, new Set(['age', 'date', ...withheld])), 'Date', formatHttpDate(date)]
}

/**
 * Lists the conditions that validate a stored response with the upstream (RFC 9111 §4.3.1): all that there are. The
 * client's own must be removed first: otherwise a 304 would not say whose copy is meant.
 */
export const conditionFields = ({ etag, lastModified }: Validators): HeaderFields => {
  const fields: string[] = []
  if (etag !== null) fields.push('If-None-Match', etag)
  if (lastModified !== null) fields.push('If-Modified-Since', lastModified)
  return fields
}

/**
 * The effect of a 304 on a stored response. `updated`: to be stored anew where there is still a head. `reused`: good
 * for this one request, and left as it is. `other`: the 304 is about something else, so the gateway has to fetch
 * without a condition. `fields` are those to respond with.
 */
type FreshenResult =
  | { readonly kind: 'updated'; readonly stored: Storability; readonly fields: HeaderFields }
  | { readonly kind: 'reused'; readonly fields: HeaderFields }
  | { readonly kind: 'other' }

/**
 * Freshens a stored response from the 304 that has come for it (RFC 9111 §3.2, §4.3.4). `request` is the one that it
 * was validated for. A response that the update forbids to store still serves that request.
 */
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

/** Returns which response a 304 is about (RFC 9111 §4.3.4): the stored one, another one, or it does not say. */
const matchNotModified = (head: StoredHead, validators: Validators): 'stored' | 'other' | 'unnamed' => {
  const either = (matches: boolean): 'stored' | 'other' => (matches ? 'stored' : 'other')
  if (validators.etag !== null && !isWeak(validators.etag))
    return either(head.etag !== null && matchesStrongly(validators.etag, head.etag))
  if (validators.etag !== null && head.etag !== null) return either(matchesWeakly(validators.etag, head.etag))
  if (validators.lastModifiedAt !== null) return either(validators.lastModifiedAt === head.lastModifiedAt)
  return validators.etag === null ? 'unnamed' : 'other'
}

// RFC 9111 §3.2: the length is that of the stored body. So are its coding, its range and its digests (RFC 9530 §2).
const bodyFields = ['content-length', 'content-encoding', 'content-range', 'content-digest', 'content-md5']

/**
 * Replaces the fields that a 304 has. Without a Date it was made when it arrived, and not when the stored response was.
 */
const updateFields = (stored: HeaderFields, received: HeaderFields, now: number): HeaderFields => {
  const replacements = omitFields(received, new Set(bodyFields))
  const replaced = new Set(replacements.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()))
  if (readDate(replacements, now) === null) replaced.add('date')
  return [...omitFields(stored, replaced), ...replacements]
}
