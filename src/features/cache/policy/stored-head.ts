import { type HeaderFields, omitFields } from '../../../core/exchange/header-fields.ts'
import { formatHttpDate } from '../../../core/exchange/http1/http-date.ts'
import { copyText } from '../../../core/lib/buffers.ts'
import type { CacheRequest, CacheRules } from './cache-request.ts'
import { type CacheDirective, fieldLines, joinFieldLines, parseDeltaMs, parseListMembers, restricts } from './fields.ts'
import { initialAge, type ReceivedHead, type ResponseMetadata, type ResponseTimes } from './freshness.ts'
import { isServerError } from './status-codes.ts'

/** Times: milliseconds of the monotonic clock unless stated. */
export type StoredHead = Readonly<ReturnType<typeof createStoredHead>>

/** `varies`: request fields that select the response, in lower case, sorted, each once (RFC 9111 §4.1). */
export const createStoredHead = (
  request: CacheRequest,
  { status, reason, fields }: ReceivedHead,
  metadata: ResponseMetadata,
  varies: readonly string[],
  times: ResponseTimes,
  { staleWhileRevalidate, staleIfError, staleWhenDisconnected }: CacheRules,
) => {
  const { directives, date, noCache, explicitMs, heuristicMs, validators } = metadata
  const bornAt = times.receivedAt - initialAge(fields, date, times)
  const freshUntil = bornAt + (explicitMs ?? heuristicMs ?? 0)
  // RFC 9111 §4.2.4 allows it, but an old failure is no better than a new one.
  const mayBeStale = !noCache && !forbidsStale.some((name) => restricts(directives, name)) && !isServerError(status)
  const staleFor = (ms: number): number => (mayBeStale ? freshUntil + ms : freshUntil)
  const head = {
    status,
    reason,
    /** Without `Age` and unstorable fields (RFC 9111 §3.1); always with `Date`. */
    fields: storableFields(fields, metadata),
    /** `Date`, since the epoch: decides between matching responses (§4.1). */
    date,
    receivedAt: times.receivedAt,
    /** Wall clock of the receiving gateway, since the epoch. */
    receivedEpoch: times.receivedEpoch,
    bornAt, // §4.2.3: when its age was 0
    freshUntil, // §4.2.1
    isHeuristic: heuristicMs !== null, // §4.2.2
    noCache, // §5.2.2.4: must be validated each time
    mayBeStale,
    /** This and the next two equal `freshUntil` if stale responses are forbidden. */
    staleWhileRevalidateUntil: staleFor(
      staleAllowance(directives, 'stale-while-revalidate', staleWhileRevalidate), // RFC 5861 §3
    ),
    staleIfErrorUntil: staleFor(staleAllowance(directives, 'stale-if-error', staleIfError)), // RFC 5861 §4
    staleWhenDisconnectedUntil: staleFor(staleWhenDisconnected), // RFC 9111 §4.2.4
    varies,
    /** Values of `varies`, written by `selectingKey`. */
    selecting: copyText(selectingKey(varies, request)),
    ...validators,
  }
  /** Counted memory, without the body. */
  return { ...head, bytes: headMemoryBytes(head) }
}

/** RFC 9111 §4.2.4: each forbids stale responses; `s-maxage` implies `proxy-revalidate` (§5.2.2.10). */
const forbidsStale = ['must-revalidate', 'proxy-revalidate', 's-maxage']

/** RFC 5861 §3, §4: the response overrides the configuration; a malformed directive allows nothing. */
const staleAllowance = (directives: readonly CacheDirective[], name: string, configuredMs: number | null): number => {
  const ms = parseDeltaMs(directives, name) ?? configuredMs ?? 0
  return Number.isNaN(ms) ? 0 : ms
}

/** RFC 9111 §3.1. Age is computed for each hit (§4); a missing or invalid Date is added (RFC 9110 §6.6.1). */
const storableFields = (fields: HeaderFields, { withheld, isDated, date }: ResponseMetadata): HeaderFields =>
  isDated
    ? omitFields(fields, new Set(['age', ...withheld]))
    : [...omitFields(fields, new Set(['age', 'date', ...withheld])), 'Date', formatHttpDate(date)]

export const servableUntil = (head: StoredHead): number =>
  Math.max(head.freshUntil, head.staleWhileRevalidateUntil, head.staleIfErrorUntil, head.staleWhenDisconnectedUntil)

/** Milliseconds (RFC 9111 §4.2.3). */
export const currentAge = ({ bornAt }: StoredHead, now: number): number => Math.max(0, now - bornAt)

/** Adds a missing `Content-Length`. Null: the body's length differs from the declared length. */
export const withContentLength = (head: StoredHead, bodyBytes: number): StoredHead | null => {
  const lengths = fieldLines(head.fields, 'content-length')
  if (lengths.length > 0) return lengths.every((length) => length === `${bodyBytes}`) ? head : null
  if (head.status === 204) return head // RFC 9110 §8.6: a 204 has none
  const complete = { ...head, fields: [...head.fields, 'Content-Length', `${bodyBytes}`] }
  return { ...complete, bytes: headMemoryBytes(complete) }
}

// Of such an object; of a string without its characters.
const headBytes = 400
const stringBytes = 32

interface HeadTexts {
  readonly fields: HeaderFields
  readonly varies: readonly string[]
  readonly selecting: string
}

/** Strings are latin1: one byte a character. */
const headMemoryBytes = ({ fields, varies, selecting }: HeadTexts): number => {
  let bytes = headBytes + selecting.length
  for (const text of fields) bytes += text.length + stringBytes
  for (const name of varies) bytes += name.length + stringBytes
  return bytes
}

// Each request is compared with each variant in all these fields: a head of 16 KiB has room for thousands, which takes
// too long.
const maxVaryNames = 32

/** Lower case, sorted, each once. `*`: never matches another request (RFC 9111 §4.1), or too many fields. */
export const varyNames = (fields: HeaderFields): readonly string[] | '*' => {
  const vary = joinFieldLines(fields, 'vary')
  if (vary === null) return noNames
  const names = parseListMembers(vary.toLowerCase()).members
  // A member that is no field name cannot be compared.
  if (!names.every((name) => name !== '*' && fieldName.test(name))) return '*'
  const once = [...new Set(names)]
  return once.length > maxVaryNames ? '*' : once.sort()
}

const noNames: readonly string[] = []

// RFC 9110 §5.1
const fieldName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

/** Equal for requests that match (RFC 9111 §4.1). Names and values have no line break: absent fields are distinct. */
export const selectingKey = (names: readonly string[], { fields, authority }: CacheRequest): string => {
  let key = ''
  for (const name of names) {
    // Host is not among the fields.
    const value = name === 'host' ? authority : joinFieldLines(fields, name)
    key += value === null ? `${name}\n` : `${name}:${normalizers[name]?.(value) ?? value.trim()}\n`
  }
  return key
}

/** The latest; variants with Vary first, because some origins omit Vary at times (RFC 9111 §4, §4.1). */
export const selectVariant = <T extends { readonly head: StoredHead }>(
  variants: Iterable<T>,
  request: CacheRequest,
): T | null => {
  let chosen: T | null = null
  for (const variant of variants) {
    const { head } = variant
    if (selectingKey(head.varies, request) !== head.selecting) continue
    if (chosen === null || isBetter(head, chosen.head)) chosen = variant
  }
  return chosen
}

const isBetter = (one: StoredHead, other: StoredHead): boolean => {
  if ((one.varies.length === 0) !== (other.varies.length === 0)) return one.varies.length > 0
  return one.date > other.date || (one.date === other.date && one.receivedAt >= other.receivedAt)
}

/** A list with a quoted string stays unchanged. */
const listNormalizer =
  (each: (member: string) => string, order: (members: string[]) => string[] = (members) => members) =>
  (value: string): string => {
    if (value.includes('"')) return value.trim()
    const members = parseListMembers(value).members.map((member) => each(member.replaceAll(/[ \t]*;[ \t]*/g, ';')))
    return order(members).join(',')
  }

// Clients of one kind send equal values, so the map has most.
const maxMemoized = 100
const maxMemoizedLength = 200

const memoized = (write: (value: string) => string): ((value: string) => string) => {
  const written = new Map<string, string>()
  return (value) => {
    const before = written.get(value)
    if (before !== undefined) return before
    const now = write(value)
    if (written.size >= maxMemoized) written.clear()
    if (value.length <= maxMemoizedLength) written.set(copyText(value), copyText(now))
    return now
  }
}

const lower = (member: string): string => member.toLowerCase()

// RFC 9110 §12.5.1: the media range ignores case, its parameters may not.
const lowerRange = (member: string): string => {
  const end = member.indexOf(';')
  return end < 0 ? member.toLowerCase() : member.slice(0, end).toLowerCase() + member.slice(end)
}

// Removes what the field's definition calls meaningless; of an unknown field, outer whitespace. Order has no meaning in
// Accept and Accept-Language (RFC 9110 §12.5.1, §12.5.4), but some upstreams use it between equal weights.
const normalizers: Readonly<Record<string, (value: string) => string>> = {
  __proto__: null as never, // a field may have the name `constructor`
  accept: memoized(listNormalizer(lowerRange)),
  'accept-charset': memoized(listNormalizer(lower)),
  'accept-encoding': memoized(listNormalizer(lower, (members) => members.sort())),
  'accept-language': memoized(listNormalizer(lower)),
}
