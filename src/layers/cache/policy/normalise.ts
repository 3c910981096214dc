import { membersOf } from './list.ts'

/**
 * Writes a request field's value so that two which mean the same are the same (RFC 9111 §4.1). Only what the field's own definition says to mean
 * nothing is taken out; of a field that is not known here, the whitespace around it.
 */
export const normalise = (name: string, value: string): string => known[name]?.(value) ?? value.trim()

/** Writes a list without whitespace; `each` writes a member. A quoted string may hold anything, so a list that has one stays as it is. */
const list =
  (each: (member: string) => string, order: (members: string[]) => string[] = (members) => members) =>
  (value: string): string => {
    if (value.includes('"')) return value.trim()
    const members = membersOf(value).members.map((member) => each(member.replaceAll(/[ \t]*;[ \t]*/g, ';')))
    return order(members).join(',')
  }

// Clients are of a few kinds, and each kind says the same each time: most of what is asked is known.
const mostKnown = 100
const longestKnown = 200

/** Remembers what was written for the values that came last. */
const remembered = (write: (value: string) => string): ((value: string) => string) => {
  const written = new Map<string, string>()
  return (value) => {
    const before = written.get(value)
    if (before !== undefined) return before
    const now = write(value)
    if (written.size >= mostKnown) written.clear()
    if (value.length <= longestKnown) written.set(value, now)
    return now
  }
}

const lower = (member: string): string => member.toLowerCase()

// RFC 9110 §12.5.1: the media range is not case-sensitive, its parameters may be.
const lowerRange = (member: string): string => {
  const end = member.indexOf(';')
  return end < 0 ? member.toLowerCase() : member.slice(0, end).toLowerCase() + member.slice(end)
}

// The order of Accept and Accept-Language says nothing either (§12.5.1, §12.5.4), but upstreams are known to go by it where weights are equal.
const known: Readonly<Record<string, (value: string) => string>> = {
  __proto__: null as never, // a field may be called `constructor`
  accept: remembered(list(lowerRange)),
  'accept-charset': remembered(list(lower)),
  'accept-encoding': remembered(list(lower, (members) => members.sort())),
  'accept-language': remembered(list(lower)),
}
