import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { copyText } from '../../../core/lib/buffers.ts'
import type { CacheRequest } from './cache-request.ts'
import { joinFieldLines, parseListMembers } from './header-list.ts'
import type { StoredHead } from './stored-head.ts'

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
