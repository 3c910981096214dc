import type { Exchange, ProxyResponse } from '../../core/exchange/exchange.ts'
import { type HeaderFields, omitFields } from '../../core/exchange/header-fields.ts'
import { parseHttpDate } from '../../core/exchange/http1/http-date.ts'
import { epochMs, toEpochMs } from '../../core/lib/clock.ts'
import type { SharedResult } from './fetch-context.ts'
import type { CachePartition } from './partition.ts'
import type { CacheRequest } from './policy/cache-request.ts'
import { isEntityTag, listMatchesWeakly, matchesStrongly, parseListMembers } from './policy/fields.ts'
import { currentAge, type StoredHead } from './policy/stored-head.ts'
import type { CacheKey, CacheOutcome } from './store/stored-response.ts'
import { emptyStoredBody, StoredBody } from './store/stored-response.ts'

export const toCacheKey = ({ identity, query }: Exchange, { site }: CacheRequest): CacheKey => ({
  client: identity?.client ?? '',
  site,
  query,
})

/** For the access log and for readers of `Cache-Status` (RFC 9211). */
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

/** For a client that got a stored or validated error instead of the upstream's response to its request. */
export const recordIfError = (partition: CachePartition, { status, receivedAt, freshUntil }: StoredHead): void => {
  if (status < 500) return
  const [sentAt, fresh] = [toEpochMs(receivedAt), toEpochMs(freshUntil)]
  partition.tally.lastError = { status, sentAt, freshUntil: fresh, servedAt: epochMs() }
}

/** `fields` are those of a response without conditions and Range. */
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

/** The body may still arrive. Null: its beginning is dropped. */
export const respondFromResult = (
  exchange: Exchange,
  request: CacheRequest,
  { head, body }: SharedResult,
  fields: HeaderFields,
): ProxyResponse | null => {
  if (body instanceof StoredBody) return respondFromStored(head, body, request, fields)
  if (request.ifNoneMatch !== null || request.ifModifiedSince !== null) {
    // A range request never gets here.
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
  /** `Content-Length` is that of `body`. */
  readonly fields: HeaderFields
  readonly body: 'whole' | 'none' | ByteRange
}

// RFC 9111 §1.2.2
const maxSeconds = 2 ** 31

/** Adds `Age`, because the upstream was not asked (RFC 9111 §4, §5.1). */
export const storedFields = (head: StoredHead, now: number): string[] => {
  const fields = head.fields.slice()
  fields.push('Age', `${Math.min(maxSeconds, Math.floor(currentAge(head, now) / 1000))}`)
  return fields
}

/**
 * Applies the request's conditions, then its Range (RFC 9110 §13.2.2); only a 200 is subject to either (§13.2.1,
 * §14.2). `bodyBytes` null: not known yet, so there are no ranges.
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

/** RFC 9110 §15.3.7: a client that sends If-Range has the other fields already. */
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

// RFC 9110 §8.6, RFC 9530 §2: fields of the message content, not of the representation.
const contentFields = new Set(['content-length', 'content-range', 'content-digest', 'content-md5'])

// RFC 9110 §15.4.5: a 304 omits these, and keeps the fields that guide caches.
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

/** Without ETag, Last-Modified stays: nothing else tells one response from another. */
const withoutDescriptive = (fields: HeaderFields): string[] =>
  omitFields(
    fields,
    fields.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'etag') ? descriptive : descriptiveWithoutTag,
  )

/** RFC 9110 §13.2.2, RFC 9111 §4.3.2: If-None-Match overrides If-Modified-Since. Other conditions bypass the cache. */
const isNotModified = (head: StoredHead, { ifNoneMatch, ifModifiedSince }: CacheRequest): boolean => {
  if (ifNoneMatch !== null) {
    if (ifNoneMatch.trim() === '*') return true // RFC 9110 §13.1.2: any representation matches
    return head.etag !== null && listMatchesWeakly(ifNoneMatch, head.etag)
  }
  if (ifModifiedSince === null) return false
  const since = parseHttpDate(ifModifiedSince, head.receivedEpoch)
  if (since === null) return false // RFC 9110 §13.1.3: an invalid date counts as absent
  // Without Last-Modified, the response was modified at its Date at the latest, in whole seconds.
  return (head.lastModifiedAt ?? head.date - (head.date % 1000)) <= since
}

/** From `start` until before `end`. */
interface ByteRange {
  readonly start: number
  readonly end: number
}

const intRange = /^(\d+)-(\d*)$/
const suffixRange = /^-(\d+)$/

/** RFC 9110 §14.1.2. Null: invalid, another unit, or several ranges; the whole body is then correct (§14.2). */
export const parseByteRange = (range: string, bodyBytes: number): ByteRange | 'unsatisfiable' | null => {
  const at = range.indexOf('=')
  if (at < 0 || range.slice(0, at).trim().toLowerCase() !== 'bytes') return null
  const [spec, ...others] = parseListMembers(range.slice(at + 1)).members
  if (spec === undefined || others.length > 0) return null

  const suffix = suffixRange.exec(spec)?.[1]
  if (suffix !== undefined) {
    if (Number(suffix) === 0) return 'unsatisfiable'
    // Content-Range cannot express zero bytes of an empty body.
    return bodyBytes === 0 ? null : { start: Math.max(0, bodyBytes - Number(suffix)), end: bodyBytes }
  }
  const [, first, last] = intRange.exec(spec) ?? []
  if (first === undefined || last === undefined) return null
  if (last !== '' && Number(last) < Number(first)) return null
  if (Number(first) >= bodyBytes) return 'unsatisfiable'
  return { start: Number(first), end: last === '' ? bodyBytes : Math.min(Number(last) + 1, bodyBytes) }
}

/** RFC 9110 §13.1.5: If-Range must match strongly. */
const rangeApplies = (head: StoredHead, { ifRange }: CacheRequest): boolean => {
  if (ifRange === null) return true
  if (isEntityTag(ifRange.trim())) return head.etag !== null && matchesStrongly(ifRange.trim(), head.etag)
  const date = parseHttpDate(ifRange, head.receivedEpoch)
  return date !== null && head.isLastModifiedStrong && date === head.lastModifiedAt
}
