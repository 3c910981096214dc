import type { Exchange, ProxyResponse } from '../../core/exchange/exchange.ts'
import { type HeaderFields, omitFields } from '../../core/exchange/header-fields.ts'
import { parseHttpDate } from '../../core/exchange/http1/http-date.ts'
import { epochMs, toEpochMs } from '../../core/lib/clock.ts'
import type { SharedResult } from './fetch-context.ts'
import type { CachePartition } from './partition.ts'
import type { CacheRequest } from './policy/cache-request.ts'
import { isEntityTag, joinFieldLines, listMatchesWeakly, matchesStrongly, parseListMembers } from './policy/fields.ts'
import { currentAge, type StoredHead } from './policy/stored-head.ts'
import { type CacheKey, type CacheOutcome, emptyStoredBody, StoredBody } from './store/stored-response.ts'

export const toCacheKey = ({ identity, query }: Exchange, { site }: CacheRequest): CacheKey => ({
  client: identity?.client ?? '',
  site,
  query,
})

/** For the access log and `Cache-Status` (RFC 9211). */
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

/** For a client that gets a stored or validated error. */
export const recordIfError = (partition: CachePartition, { status, receivedAt, freshUntil }: StoredHead): void => {
  if (status < 500) return
  const [sentAt, fresh] = [toEpochMs(receivedAt), toEpochMs(freshUntil)]
  partition.tally.lastError = { status, sentAt, freshUntil: fresh, servedAt: epochMs() }
}

/** `fields`: of a response without conditions and Range. */
export const respondFromStored = (
  head: StoredHead,
  body: StoredBody,
  request: CacheRequest,
  fields: HeaderFields,
): ProxyResponse => {
  if (request.isPlain) return { status: head.status, reason: head.reason, fields, body }
  const { body: part, ...plan } = planResponse(head, body.bytes.length, request, fields)
  const reason = plan.status === head.status ? head.reason : ''
  if (part === 'whole') return { ...plan, reason, body }
  return { ...plan, reason, body: part === 'none' ? emptyStoredBody : body.slice(part.start, part.end) }
}

/** The body may still be arriving. Null: its beginning is dropped. */
export const respondFromResult = (
  exchange: Exchange,
  request: CacheRequest,
  { head, body }: SharedResult,
  fields: HeaderFields,
): ProxyResponse | null => {
  if (body instanceof StoredBody) return respondFromStored(head, body, request, fields)
  // Range requests never get here.
  const plan = request.isPlain ? null : planResponse(head, null, request, fields)
  if (plan?.body === 'none') return { ...plan, reason: '', body: emptyStoredBody }
  const reader = body.openReader(exchange)
  if (reader === null) return null
  exchange.setAbortListener(() => reader.discard())
  return { status: head.status, reason: head.reason, fields, body: reader }
}

/** `Content-Length` is the length of `body`. */
interface ResponsePlan extends Pick<ProxyResponse, 'status' | 'fields'> {
  readonly body: 'whole' | 'none' | ByteRange
}

// RFC 9111 §1.2.2
const maxSeconds = 2 ** 31

/** Adds `Age`, because the upstream did not generate this response now (RFC 9111 §4, §5.1). */
export const storedFields = (head: StoredHead, now: number): string[] => {
  const fields = head.fields.slice()
  fields.push('Age', `${Math.min(maxSeconds, Math.floor(currentAge(head, now) / 1000))}`)
  return fields
}

/** RFC 9110 §13.2.2: conditions first, then Range, for a 200 only (§13.2.1, §14.2). `bodyBytes` null: unknown. */
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
  return { status: 206, fields: rangeFields(range, bodyBytes, request.ifRange !== null, fields), body: range }
}

/** RFC 9110 §15.3.7: a client that sends If-Range has the other fields already. */
const rangeFields = (
  { start, end }: ByteRange,
  bodyBytes: number | null,
  hasIfRange: boolean,
  fields: HeaderFields,
) => {
  const kept = hasIfRange ? withoutDescriptive(fields) : omitFields(fields, contentFields)
  kept.push('Content-Range', `bytes ${start}-${end - 1}/${bodyBytes}`, 'Content-Length', `${end - start}`)
  return kept
}

// RFC 9110 §8.6, RFC 9530 §2: about the message's content, not the representation.
const contentFields = new Set(['content-length', 'content-range', 'content-digest', 'content-md5'])

// RFC 9110 §15.4.5: a 304 omits these, and keeps fields that guide caches.
const representation = ['content-type', 'content-encoding', 'content-language', 'repr-digest', 'digest']
const descriptiveWithoutTag = new Set([...contentFields, ...representation])
const descriptive = new Set([...descriptiveWithoutTag, 'last-modified'])

/** Without ETag, Last-Modified stays: it is the only validator. */
const withoutDescriptive = (fields: HeaderFields): string[] =>
  omitFields(fields, joinFieldLines(fields, 'etag') === null ? descriptiveWithoutTag : descriptive)

/** RFC 9110 §13.2.2, RFC 9111 §4.3.2: If-None-Match overrides If-Modified-Since; others bypass the cache. */
const isNotModified = (head: StoredHead, { ifNoneMatch, ifModifiedSince }: CacheRequest): boolean => {
  if (ifNoneMatch !== null) {
    if (ifNoneMatch.trim() === '*') return true // RFC 9110 §13.1.2: any representation matches
    return head.etag !== null && listMatchesWeakly(ifNoneMatch, head.etag)
  }
  if (ifModifiedSince === null) return false
  const since = parseHttpDate(ifModifiedSince, head.receivedEpoch)
  if (since === null) return false // RFC 9110 §13.1.3: an invalid date counts as absent
  // Without Last-Modified: modified at its Date at the latest, in whole seconds.
  return (head.lastModifiedAt ?? head.date - (head.date % 1000)) <= since
}

/** `end` is exclusive. */
interface ByteRange {
  readonly start: number
  readonly end: number
}

const byteRange = /^(\d*)-(\d*)$/

/** RFC 9110 §14.1.2. Null: invalid, another unit, or several ranges; then the whole body is sent (§14.2). */
export const parseByteRange = (range: string, bodyBytes: number): ByteRange | 'unsatisfiable' | null => {
  const at = range.indexOf('=')
  if (at < 0 || range.slice(0, at).trim().toLowerCase() !== 'bytes') return null
  const [spec, ...others] = parseListMembers(range.slice(at + 1)).members
  if (spec === undefined || others.length > 0) return null

  const [, first, last] = byteRange.exec(spec) ?? []
  if (first === undefined || last === undefined || first + last === '') return null
  if (first === '') {
    if (Number(last) === 0) return 'unsatisfiable'
    // Content-Range cannot describe an empty body.
    return bodyBytes === 0 ? null : { start: Math.max(0, bodyBytes - Number(last)), end: bodyBytes }
  }
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
