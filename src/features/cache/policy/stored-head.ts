import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { copyText } from '../../../core/lib/buffers.ts'
import type { CacheRequest } from './cache-request.ts'
import { fieldLines, joinFieldLines, parseListMembers, type Validators } from './fields.ts'

/**
 * The head of a stored response. All that a hit needs is computed when it is stored. Plain data: it can be written as
 * JSON. Times are milliseconds of the monotonic clock, unless they say that they are since the epoch.
 */
export interface StoredHead extends Validators {
  readonly status: number
  readonly reason: string
  /**
   * The fields to send, without `Age`: all that it came with, less what may not be stored (RFC 9111 §3.1). There is
   * always a `Date`.
   */
  readonly fields: HeaderFields
  /** The time of its `Date`, since the epoch: of two matching responses, the later one is selected (§4.1). */
  readonly date: number
  readonly receivedAt: number
  /** The same by the wall clock of the gateway that received it, since the epoch. */
  readonly receivedEpoch: number
  /** The time at which its age was 0: its current age is the time since then (§4.2.3). */
  readonly bornAt: number
  /** The end of its freshness lifetime (§4.2.1). */
  readonly freshUntil: number
  /** Whether its freshness lifetime is a guess (§4.2.2). */
  readonly isHeuristic: boolean
  /** Whether it has to be validated each time (§5.2.2.4). */
  readonly noCache: boolean
  /**
   * Whether it may ever be served stale: `must-revalidate`, `proxy-revalidate`, `s-maxage` and `no-cache` forbid it
   * (§4.2.4), and so does a status of 5xx.
   */
  readonly mayBeStale: boolean
  /**
   * The end of the time in which it may be served stale while it is validated (RFC 5861 §3). Where it may never be
   * stale, this and the next two are `freshUntil`.
   */
  readonly staleWhileRevalidateUntil: number
  /** The end of the time in which it may be served in place of an error (RFC 5861 §4). */
  readonly staleIfErrorUntil: number
  /** The end of the time in which it may be served because the upstream cannot be reached (RFC 9111 §4.2.4). */
  readonly staleWhenDisconnectedUntil: number
  /** The request fields it was selected by: lower case, sorted, each once (§4.1). */
  readonly varies: readonly string[]
  /** The values of these fields, as `selectingKey` writes them. */
  readonly selecting: string
  /** The bytes that it counts in the cache, without its body. */
  readonly bytes: number
}

export const servableUntil = (head: StoredHead): number =>
  Math.max(head.freshUntil, head.staleWhileRevalidateUntil, head.staleIfErrorUntil, head.staleWhenDisconnectedUntil)

/** Computes its age in milliseconds (RFC 9111 §4.2.3). */
export const currentAge = ({ bornAt }: StoredHead, now: number): number => Math.max(0, now - bornAt)

/**
 * Completes a head when the body has ended: adds `Content-Length`, where it came without. Null: the body does not have
 * the declared length.
 */
export const withContentLength = (head: StoredHead, bodyBytes: number): StoredHead | null => {
  const lengths = fieldLines(head.fields, 'content-length')
  if (lengths.length > 0) return lengths.every((length) => length === `${bodyBytes}`) ? head : null
  if (head.status === 204) return head // RFC 9110 §8.6: it has none
  const complete = { ...head, fields: [...head.fields, 'Content-Length', `${bodyBytes}`] }
  return { ...complete, bytes: headMemoryBytes(complete) }
}

// The size of an object of this shape, and of a string besides its characters.
const headBytes = 400
const stringBytes = 32

/** Estimates the memory of a head: strings are latin1, a byte a character. */
export const headMemoryBytes = ({ fields, varies, selecting }: Omit<StoredHead, 'bytes'>): number => {
  let bytes = headBytes + selecting.length
  for (const text of fields) bytes += text.length + stringBytes
  for (const name of varies) bytes += name.length + stringBytes
  return bytes
}

// Each request is compared with each variant in all of them: thousands, in the 16 KiB of a head, would take longer than
// any upstream.
const maxVaryNames = 32

/**
 * Lists the fields that a response varies by: lower case, sorted, each once; `*`: no other request will ever match (RFC
 * 9111 §4.1), or there are too many to compare.
 */
export const varyNames = (fields: HeaderFields): readonly string[] | '*' => {
  const vary = joinFieldLines(fields, 'vary')
  if (vary === null) return noNames
  const names = parseListMembers(vary.toLowerCase()).members
  // A text that is no field name stands for something that the gateway cannot compare.
  if (!names.every((name) => name !== '*' && fieldName.test(name))) return '*'
  const once = [...new Set(names)]
  return once.length > maxVaryNames ? '*' : once.sort()
}

const noNames: readonly string[] = []

// RFC 9110 §5.1
const fieldName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

/**
 * Writes a request's values of the fields that responses vary by, normalised: two requests that match write the same.
 * There is a line for each name; no name and no value holds the end of a line, so an absent field is distinct. Empty
 * for no names.
 */
export const selectingKey = (names: readonly string[], request: CacheRequest): string => {
  let key = ''
  for (const name of names) {
    const value = requestValue(name, request)
    key += value === null ? `${name}\n` : `${name}:${normalise(name, value)}\n`
  }
  return key
}

// Host is no longer among the fields when a request gets here.
const requestValue = (name: string, { fields, authority }: CacheRequest): string | null =>
  name === 'host' ? authority : joinFieldLines(fields, name)

/**
 * Selects the latest of the variants that match a request, and one with Vary before one without (RFC 9111 §4, §4.1);
 * null: none matches.
 */
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

// §4.1: some origins forget Vary in responses to plain requests. Such a response is never the better choice.
const isBetter = (one: StoredHead, other: StoredHead): boolean =>
  (one.varies.length === 0) === (other.varies.length === 0) ? isLater(one, other) : one.varies.length > 0

const isLater = (one: StoredHead, other: StoredHead): boolean =>
  one.date > other.date || (one.date === other.date && one.receivedAt >= other.receivedAt)

/**
 * Normalises a request field's value, so that values of the same meaning are equal (RFC 9111 §4.1). It removes only
 * what the field's own definition calls meaningless; of an unknown field, the whitespace around it.
 */
const normalise = (name: string, value: string): string => normalisers[name]?.(value) ?? value.trim()

/**
 * Normalises a list: no whitespace, and `each` applied to each member. A quoted string may hold anything, so a list
 * that has one stays as it is.
 */
const listNormaliser =
  (each: (member: string) => string, order: (members: string[]) => string[] = (members) => members) =>
  (value: string): string => {
    if (value.includes('"')) return value.trim()
    const members = parseListMembers(value).members.map((member) => each(member.replaceAll(/[ \t]*;[ \t]*/g, ';')))
    return order(members).join(',')
  }

// Clients are of a few kinds, and each kind sends the same values each time: most values are in the map.
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

// RFC 9110 §12.5.1: the media range is not case-sensitive, its parameters may be.
const lowerRange = (member: string): string => {
  const end = member.indexOf(';')
  return end < 0 ? member.toLowerCase() : member.slice(0, end).toLowerCase() + member.slice(end)
}

// The order of Accept and Accept-Language means nothing either (§12.5.1, §12.5.4), but upstreams are known to go by it
// where weights are equal.
const normalisers: Readonly<Record<string, (value: string) => string>> = {
  __proto__: null as never, // a field may be called `constructor`
  accept: memoized(listNormaliser(lowerRange)),
  'accept-charset': memoized(listNormaliser(lower)),
  'accept-encoding': memoized(listNormaliser(lower, (members) => members.sort())),
  'accept-language': memoized(listNormaliser(lower)),
}
