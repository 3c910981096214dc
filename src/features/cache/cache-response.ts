import type { Exchange, ProxyResponse } from '../../core/exchange/exchange.ts'
import type { CacheOutcome } from '../../core/exchange/exchange-outcomes.ts'
import { type HeaderFields, omitFields } from '../../core/exchange/header-fields.ts'
import { parseHttpDate } from '../../core/exchange/http1/http-date.ts'
import { epochMs, toEpochMs } from '../../core/lib/clock.ts'
import type { SharedResult } from './fetch-context.ts'
import type { CachePartition } from './partition.ts'
import type { CacheRequest } from './policy/cache-request.ts'
import { isEntityTag, listMatchesWeakly, matchesStrongly, parseListMembers } from './policy/fields.ts'
import { currentAge, type StoredHead } from './policy/stored-head.ts'
import type { CacheKey } from './store/stored-response.ts'
import { emptyStoredBody, StoredBody } from './store/stored-response.ts'

export const toCacheKey = ({ identity, query }: Exchange, { site }: CacheRequest): CacheKey => ({
  client: identity?.client ?? '',
  site,
  query,
})

/** Records what the cache did, for the access log and for readers of `Cache-Status` (RFC 9211). */
export const recordCacheOutcome = (
  exchange: Exchange,
  partition: CachePartition,
  outcome: CacheOutcome,
  status: string,
): void => {
  const stored = outcome === 'miss' || outcome === 'bypass' ? null : 'side-of-client'
  exchange.outcome = { source: 'cache', outcome, firstRequestId: null, stored, isAudited: false }
  partition.tally.counts[outcome]++
  if (exchange.addedResponseFields === null) exchange.addedResponseFields = ['Cache-Status', status]
  else exchange.addedResponseFields.push('Cache-Status', status)
}

/** Records that a client gets an error that was stored, or validated, and is not the upstream's response to it. */
export const recordIfError = (partition: CachePartition, { status, receivedAt, freshUntil }: StoredHead): void => {
  if (status < 500) return
  const [sentAt, fresh] = [toEpochMs(receivedAt), toEpochMs(freshUntil)]
  partition.tally.lastError = { status, sentAt, freshUntil: fresh, servedAt: epochMs() }
}

/** Responds with a body that is all there. `fields` are those of a plain response. */
export const respondFromStored = (
  head: StoredHead,
  body: StoredBody,
  request: CacheRequest,
  fields: HeaderFields,
): ProxyResponse => {
  if (request.isPlain) return { status: head.status, reason: head.reason, fields, body }
  const plan = planResponse(head, body.bytes.length, request, fields)
  return {
    status: plan.status,
    reason: plan.status === head.status ? head.reason : '',
    fields: plan.fields,
    body:
      plan.body === 'whole'
        ? body
        : plan.body === 'none'
          ? emptyStoredBody
          : body.slice(plan.body.start, plan.body.end),
  }
}

/**
 * Responds with the result of a fetch, whose body may still be coming. `fields` as for {@link respondFromStored}. Null:
 * the beginning of the body is gone.
 */
export const respondFromResult = (
  exchange: Exchange,
  request: CacheRequest,
  { head, body }: SharedResult,
  fields: HeaderFields,
): ProxyResponse | null => {
  if (body instanceof StoredBody) return respondFromStored(head, body, request, fields)
  if (request.ifNoneMatch !== null || request.ifModifiedSince !== null) {
    // A range request does not wait for the whole, and is never served here.
    const plan = planResponse(head, null, request, fields)
    if (plan.body === 'none') return { status: plan.status, reason: '', fields: plan.fields, body: emptyStoredBody }
  }
  const reader = body.openReader(exchange)
  if (reader === null) return null
  exchange.setAbortListener(() => reader.discard())
  return { status: head.status, reason: head.reason, fields, body: reader }
}

interface ResponsePlan {
  readonly status: number
  /** With `Content-Length` as it is for this body. */
  readonly fields: HeaderFields
  readonly body: 'whole' | 'none' | ByteRange
}

// RFC 9111 §1.2.2
const maxSeconds = 2 ** 31

/**
 * Lists the fields of a stored response that is used without asking the upstream: the stored ones, and its `Age` (RFC
 * 9111 §4, §5.1).
 */
export const storedFields = (head: StoredHead, now: number): string[] => {
  const fields = head.fields.slice()
  fields.push('Age', `${Math.min(maxSeconds, Math.floor(currentAge(head, now) / 1000))}`)
  return fields
}

/**
 * Plans the response to a request from a stored or just received one: the request's conditions come first, then its
 * Range (RFC 9110 §13.2.2). `fields` are those of a plain 200: {@link storedFields}, or those that the upstream has
 * just sent. Only a 200 is subject to either (§13.2.1, §14.2). `bodyBytes`: null while it is unknown; there are no
 * parts of it then.
 */
export const planResponse = (
  head: StoredHead,
  bodyBytes: number | null,
  request: CacheRequest,
  fields: HeaderFields,
): ResponsePlan => {
  if (request.isPlain || head.status !== 200) return { status: head.status, fields, body: 'whole' }
  if (isNotModified(head, request)) return { status: 304, fields: withoutDescriptive(fields), body: 'none' }
  const isRanged = request.range !== null && bodyBytes !== null && rangeApplies(head, request)
  const range = isRanged ? parseByteRange(request.range, bodyBytes) : null
  if (range === null) return { status: 200, fields, body: 'whole' }
  if (range === 'unsatisfiable')
    return { status: 416, fields: ['Content-Range', `bytes */${bodyBytes}`, 'Content-Length', '0'], body: 'none' }
  return { status: 206, fields: rangeFields(range, bodyBytes, request, fields), body: range }
}

/** RFC 9110 §15.3.7: a client that sends If-Range has the rest of the fields already. */
const rangeFields = (
  { start, end }: ByteRange,
  bodyBytes: number | null,
  { ifRange }: CacheRequest,
  fields: HeaderFields,
): HeaderFields => {
  const kept = ifRange === null ? omitFields(fields, contentFields) : withoutDescriptive(fields)
  kept.push('Content-Range', `bytes ${start}-${end - 1}/${bodyBytes}`, 'Content-Length', `${end - start}`)
  return kept
}

// Fields about the content of a message, and not about the representation (RFC 9110 §8.6, RFC 9530 §2).
const contentFields = new Set(['content-length', 'content-range', 'content-digest', 'content-md5'])

// RFC 9110 §15.4.5: a 304 omits what describes the representation, except what guides caches.
const descriptive = new Set([
  ...contentFields,
  'content-type',
  'content-encoding',
  'content-language',
  'last-modified',
  'repr-digest',
  'digest',
])
const descriptiveWithoutTag = new Set([...descriptive].filter((name) => name !== 'last-modified'))

/**
 * Omits what the client has already. Last-Modified stays where there is no ETag: it is then all that tells one response
 * from another.
 */
const withoutDescriptive = (fields: HeaderFields): string[] =>
  omitFields(
    fields,
    fields.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'etag') ? descriptive : descriptiveWithoutTag,
  )

/**
 * Tells whether the client has the stored response already, so that it gets a 304 (RFC 9110 §13.2.2, RFC 9111 §4.3.2).
 * Where If-None-Match is there, it alone counts. If-Match and If-Unmodified-Since do not get here.
 */
const isNotModified = (head: StoredHead, { ifNoneMatch, ifModifiedSince }: CacheRequest): boolean => {
  if (ifNoneMatch !== null) {
    if (ifNoneMatch.trim() === '*') return true // RFC 9110 §13.1.2: there is one, whichever it is
    return head.etag !== null && listMatchesWeakly(ifNoneMatch, head.etag)
  }
  if (ifModifiedSince === null) return false
  const since = parseHttpDate(ifModifiedSince, head.receivedEpoch)
  if (since === null) return false // §13.1.3: what is no single date is not there
  // Without Last-Modified, the response was modified no later than it was made. Dates are in whole seconds.
  return (head.lastModifiedAt ?? head.date - (head.date % 1000)) <= since
}

/** A part of a body: its bytes from `start` until before `end`. */
interface ByteRange {
  readonly start: number
  readonly end: number
}

const intRange = /^(\d+)-(\d*)$/
const suffixRange = /^-(\d+)$/

/**
 * Parses which part of a body is asked for (RFC 9110 §14.1.2). Null: the Range is not followed, because it is invalid,
 * in another unit, or about several parts: all of the body is always a right response (§14.2).
 */
export const parseByteRange = (range: string, bodyBytes: number): ByteRange | 'unsatisfiable' | null => {
  const at = range.indexOf('=')
  if (at < 0 || range.slice(0, at).trim().toLowerCase() !== 'bytes') return null
  const [spec, ...others] = parseListMembers(range.slice(at + 1)).members
  if (spec === undefined || others.length > 0) return null

  const suffix = suffixRange.exec(spec)?.[1]
  if (suffix !== undefined) {
    if (Number(suffix) === 0) return 'unsatisfiable'
    // The last bytes of an empty body are none, and no Content-Range can say that.
    return bodyBytes === 0 ? null : { start: Math.max(0, bodyBytes - Number(suffix)), end: bodyBytes }
  }
  const [, first, last] = intRange.exec(spec) ?? []
  if (first === undefined || last === undefined) return null
  if (last !== '' && Number(last) < Number(first)) return null
  if (Number(first) >= bodyBytes) return 'unsatisfiable'
  return { start: Number(first), end: last === '' ? bodyBytes : Math.min(Number(last) + 1, bodyBytes) }
}

/** Tells whether the client's part belongs to this response (RFC 9110 §13.1.5): both validators have to be strong. */
const rangeApplies = (head: StoredHead, { ifRange }: CacheRequest): boolean => {
  if (ifRange === null) return true
  if (isEntityTag(ifRange.trim())) return head.etag !== null && matchesStrongly(ifRange.trim(), head.etag)
  const date = parseHttpDate(ifRange, head.receivedEpoch)
  return date !== null && head.isLastModifiedStrong && date === head.lastModifiedAt
}
