import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { copyText } from '../../../core/lib/buffers.ts'
import type { CacheRequest } from './cache-request.ts'
import { fieldLines, joinFieldLines, parseListMembers, type Validators } from './fields.ts'

/** All that a hit needs, as plain JSON data. Times are milliseconds of the monotonic clock unless stated. */
export interface StoredHead extends Validators {
  readonly status: number
  readonly reason: string
  /** Without `Age` and fields that may not be stored (RFC 9111 §3.1); always with `Date`. */
  readonly fields: HeaderFields
  /** Its `Date`, since the epoch: decides between matching responses (§4.1). */
  readonly date: number
  readonly receivedAt: number
  /** By the receiving gateway's wall clock, since the epoch. */
  readonly receivedEpoch: number
  /** When its age was 0 (§4.2.3). */
  readonly bornAt: number
  /** §4.2.1 */
  readonly freshUntil: number
  /** §4.2.2 */
  readonly isHeuristic: boolean
  /** Must be validated each time (§5.2.2.4). */
  readonly noCache: boolean
  /** Forbidden by `must-revalidate`, `proxy-revalidate`, `s-maxage`, `no-cache` (§4.2.4) and 5xx. */
  readonly mayBeStale: boolean
  /** RFC 5861 §3. This and the next two are `freshUntil` where it may never be stale. */
  readonly staleWhileRevalidateUntil: number
  /** RFC 5861 §4 */
  readonly staleIfErrorUntil: number
  /** RFC 9111 §4.2.4 */
  readonly staleWhenDisconnectedUntil: number
  /** Request fields in lower case, sorted, each once (§4.1). */
  readonly varies: readonly string[]
  /** Their values, written by `selectingKey`. */
  readonly selecting: string
  /** Memory that counts, without the body. */
  readonly bytes: number
}

export const servableUntil = (head: StoredHead): number =>
  Math.max(head.freshUntil, head.staleWhileRevalidateUntil, head.staleIfErrorUntil, head.staleWhenDisconnectedUntil)

/** In milliseconds (RFC 9111 §4.2.3). */
export const currentAge = ({ bornAt }: StoredHead, now: number): number => Math.max(0, now - bornAt)

/** Adds a missing `Content-Length`. Null: the body does not have the declared length. */
export const withContentLength = (head: StoredHead, bodyBytes: number): StoredHead | null => {
  const lengths = fieldLines(head.fields, 'content-length')
  if (lengths.length > 0) return lengths.every((length) => length === `${bodyBytes}`) ? head : null
  if (head.status === 204) return head // RFC 9110 §8.6: a 204 has none
  const complete = { ...head, fields: [...head.fields, 'Content-Length', `${bodyBytes}`] }
  return { ...complete, bytes: headMemoryBytes(complete) }
}

// Of an object of this shape; of a string without its characters.
const headBytes = 400
const stringBytes = 32

/** Strings are latin1: a byte a character. */
export const headMemoryBytes = ({ fields, varies, selecting }: Omit<StoredHead, 'bytes'>): number => {
  let bytes = headBytes + selecting.length
  for (const text of fields) bytes += text.length + stringBytes
  for (const name of varies) bytes += name.length + stringBytes
  return bytes
}

// Each request is compared with each variant in all of these fields: the thousands that fit in a head of 16 KiB would
// take longer than any upstream.
const maxVaryNames = 32

/** Lower case, sorted, each once; `*`: no other request matches (RFC 9111 §4.1), or there are too many fields. */
export const varyNames = (fields: HeaderFields): readonly string[] | '*' => {
  const vary = joinFieldLines(fields, 'vary')
  if (vary === null) return noNames
  const names = parseListMembers(vary.toLowerCase()).members
  // The gateway cannot compare a member that is no field name.
  if (!names.every((name) => name !== '*' && fieldName.test(name))) return '*'
  const once = [...new Set(names)]
  return once.length > maxVaryNames ? '*' : once.sort()
}

const noNames: readonly string[] = []

// RFC 9110 §5.1
const fieldName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

/**
 * The request's values of these fields, normalized: equal for requests that match. A line for each name; no name or
 * value holds a line break, so an absent field is distinct.
 */
export const selectingKey = (names: readonly string[], request: CacheRequest): string => {
  let key = ''
  for (const name of names) {
    const value = requestValue(name, request)
    key += value === null ? `${name}\n` : `${name}:${normalize(name, value)}\n`
  }
  return key
}

// Host is not among the fields here.
const requestValue = (name: string, { fields, authority }: CacheRequest): string | null =>
  name === 'host' ? authority : joinFieldLines(fields, name)

/** Selects the latest, and variants with Vary before those without (RFC 9111 §4, §4.1). */
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

// RFC 9111 §4.1: some origins omit Vary in responses to plain requests.
const isBetter = (one: StoredHead, other: StoredHead): boolean =>
  (one.varies.length === 0) === (other.varies.length === 0) ? isLater(one, other) : one.varies.length > 0

const isLater = (one: StoredHead, other: StoredHead): boolean =>
  one.date > other.date || (one.date === other.date && one.receivedAt >= other.receivedAt)

/** RFC 9111 §4.1. Removes what the field's definition calls meaningless; of an unknown field, outer whitespace. */
const normalize = (name: string, value: string): string => normalizers[name]?.(value) ?? value.trim()

/** A list with a quoted string stays as it is. */
const listNormalizer =
  (each: (member: string) => string, order: (members: string[]) => string[] = (members) => members) =>
  (value: string): string => {
    if (value.includes('"')) return value.trim()
    const members = parseListMembers(value).members.map((member) => each(member.replaceAll(/[ \t]*;[ \t]*/g, ';')))
    return order(members).join(',')
  }

// Each kind of client sends the same values: most are in the map.
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

// RFC 9110 §12.5.1: the media range is case-insensitive, its parameters may not be.
const lowerRange = (member: string): string => {
  const end = member.indexOf(';')
  return end < 0 ? member.toLowerCase() : member.slice(0, end).toLowerCase() + member.slice(end)
}

// Order is meaningless in Accept and Accept-Language too (RFC 9110 §12.5.1, §12.5.4), but some upstreams use it between
// equal weights.
const normalizers: Readonly<Record<string, (value: string) => string>> = {
  __proto__: null as never, // a field may be called `constructor`
  accept: memoized(listNormalizer(lowerRange)),
  'accept-charset': memoized(listNormalizer(lower)),
  'accept-encoding': memoized(listNormalizer(lower, (members) => members.sort())),
  'accept-language': memoized(listNormalizer(lower)),
}
