import type { Fields } from '../../../fields.ts'
import { joined, membersOf } from './list.ts'
import { normalise } from './normalise.ts'
import type { CacheRequest } from './request.ts'
import type { StoredHead } from './stored.ts'

// Each request is compared with each variant in all of them: thousands, in the 16 KiB of a head, would take longer than any upstream.
const mostNames = 32

/**
 * Lists the fields that an answer varies by: lower case, sorted, each once; `*`: no other request will ever match (RFC 9111 §4.1), or there are too
 * many to compare.
 */
export const varyNames = (fields: Fields): readonly string[] | '*' => {
  const vary = joined(fields, 'vary')
  if (vary === null) return none
  const names = membersOf(vary.toLowerCase()).members
  // What is no name of a field stands for something that nobody can compare.
  if (!names.every((name) => name !== '*' && fieldName.test(name))) return '*'
  const once = [...new Set(names)]
  return once.length > mostNames ? '*' : once.sort()
}

const none: readonly string[] = []

// RFC 9110 §5.1
const fieldName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/

/**
 * Writes what a request says in the fields that answers vary by, normalised: two that match write the same. A line for each name; no name and no
 * value holds the end of a line, or is absent as another is. Empty for no names.
 */
export const selectingKey = (names: readonly string[], request: CacheRequest): string => {
  let key = ''
  for (const name of names) {
    const value = askedBy(name, request)
    key += value === null ? `${name}\n` : `${name}:${normalise(name, value)}\n`
  }
  return key
}

// Host is no longer among the fields when a request gets here.
const askedBy = (name: string, { fields, authority }: CacheRequest): string | null =>
  name === 'host' ? authority : joined(fields, name)

/** Chooses the latest of the variants that match a request, one that says what it varies by before one that does not (RFC 9111 §4, §4.1); null: none does. */
export const select = <T extends { readonly head: StoredHead }>(
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

// §4.1: some origins forget Vary in answers to requests that ask for nothing special. Such an answer is nobody's better choice.
const isBetter = (one: StoredHead, other: StoredHead): boolean =>
  (one.varies.length === 0) === (other.varies.length === 0) ? isLater(one, other) : one.varies.length > 0

const isLater = (one: StoredHead, other: StoredHead): boolean =>
  one.date > other.date || (one.date === other.date && one.receivedAt >= other.receivedAt)
