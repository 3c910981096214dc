import { fieldNameEquals, getFieldValues, type HeaderFields, joinValues } from '../../../core/exchange/header-fields.ts'
import { parseHttpDate } from '../../../core/exchange/http1/http-date.ts'

/**
 * Joins the lines of a field with a comma, as RFC 9110 §5.3 allows; null: there is none. `lower` is the name in lower
 * case.
 */
export const joinFieldLines = (fields: HeaderFields, lower: string): string | null => {
  let value: string | null = null
  for (let i = 0; i < fields.length; i += 2) {
    if (fieldNameEquals(fields[i] as string, lower)) value = joinValues(value, fields[i + 1] as string)
  }
  return value
}

export const fieldLines = (fields: HeaderFields, lower: string): string[] =>
  getFieldValues(fields, lower).map((value) => value.trim())

/**
 * Splits a list at its commas, except in quoted strings. A quoted string that never ends is split at its commas all the
 * same. `members` are without surrounding whitespace, and without the empty ones (RFC 9110 §5.6.1.2). `soundUntil` is
 * the index at which a quoted string begins that never ends, since the meaning is unknown from there on; otherwise the
 * number of members.
 */
export const parseListMembers = (list: string) => {
  const members: string[] = []
  const take = (text: string): void => {
    const member = text.trim()
    if (member !== '') members.push(member)
  }
  let start = 0
  let quoted = false
  for (let i = 0; i < list.length; i++) {
    const char = list[i]
    if (char === '"') quoted = !quoted
    else if (quoted && char === '\\') i++
    else if (char === ',' && !quoted) {
      take(list.slice(start, i))
      start = i + 1
    }
  }
  const rest = list.slice(start)
  if (!quoted) {
    take(rest)
    return { members, soundUntil: members.length }
  }
  const soundUntil = members.length
  for (const member of rest.split(',')) take(member)
  return { members, soundUntil }
}

export interface CacheDirective {
  /** In lower case: names are not case-sensitive (RFC 9111 §5.2). */
  readonly name: string
  /** Unquoted; null: there is none. */
  readonly argument: string | null
  /**
   * Whether the directive follows the grammar. A malformed one counts where it restricts and not where it allows:
   * `no-store;x` forbids storing, and `public;x` allows nothing.
   */
  readonly sound: boolean
}

// RFC 9111 §1.2.2: a greater number counts as 2^31, which is 68 years.
const maxSeconds = 2 ** 31

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
// §5.2: arguments as tokens and as quoted strings, whatever a directive's own definition prefers.
const directivePattern = new RegExp(`^(${token})(?:=(?:(${token})|"((?:[^"\\\\]|\\\\.)*)"))?$`, 's')
const nameAtStart = new RegExp(`^${token}`)
const fieldName = new RegExp(`^${token}$`)
const digits = /^[0-9]+$/

export const parseCacheControl = (fields: HeaderFields): readonly CacheDirective[] | null => {
  const value = joinFieldLines(fields, 'cache-control')
  return value === null ? null : parseDirectives(value)
}

export const parseDirectives = (value: string): readonly CacheDirective[] => {
  const { members, soundUntil } = parseListMembers(value)
  return members.map((member, at) => parseDirective(member, at < soundUntil))
}

const parseDirective = (member: string, sound: boolean): CacheDirective => {
  const [, name, plain, quoted] = directivePattern.exec(member) ?? []
  if (name === undefined)
    return { name: (nameAtStart.exec(member)?.[0] ?? '').toLowerCase(), argument: null, sound: false }
  return { name: name.toLowerCase(), argument: plain ?? quoted?.replaceAll(/\\(.)/gs, '$1') ?? null, sound }
}

/** Tells whether a restricting directive is there, however it is written. */
export const restricts = (directives: readonly CacheDirective[], name: string): boolean =>
  directives.some((directive) => directive.name === name)

/** Tells whether an allowing directive is there: it has no argument, and is well-formed. */
export const allows = (directives: readonly CacheDirective[], name: string): boolean =>
  directives.some((directive) => directive.name === name && directive.sound && directive.argument === null)

/**
 * Parses delta-seconds as milliseconds; null: there are none; NaN: they are something else, or several that differ. RFC
 * 9111 §4.2.1 then lets the first count, or takes the response for stale: the latter is the safer.
 */
export const parseDeltaMs = (directives: readonly CacheDirective[], name: string): number | null => {
  let found: number | null = null
  for (const directive of directives) {
    if (directive.name !== name) continue
    const ms = directive.sound ? parseDeltaSeconds(directive.argument ?? '') : Number.NaN
    if (found !== null && found !== ms) return Number.NaN
    found = ms
  }
  return found
}

/** Parses delta-seconds (RFC 9111 §1.2.2) as milliseconds; NaN for anything else. */
export const parseDeltaSeconds = (text: string): number =>
  digits.test(text) ? Math.min(Number(text), maxSeconds) * 1000 : Number.NaN

/**
 * Lists, in lower case, the fields that `no-cache` or `private` names; `all`: the directive is about the whole
 * response; null: it is absent.
 */
export const directiveFields = (
  directives: readonly CacheDirective[],
  name: string,
): readonly string[] | 'all' | null => {
  let names: string[] | null = null
  for (const { name: found, argument, sound } of directives) {
    if (found !== name) continue
    const listed = argument === null || !sound ? [] : argument.split(',').map((part) => part.trim().toLowerCase())
    const named = listed.filter((part) => part !== '')
    // A directive that names no field, or something else, is about all there is.
    if (named.length === 0 || !named.every((part) => fieldName.test(part))) return 'all'
    names = [...(names ?? []), ...named]
  }
  return names
}

/** The validators that tell one representation from another (RFC 9110 §8.8). */
export interface Validators {
  /** As it came; null: there is none, several, or it is no entity tag. */
  readonly etag: string | null
  /** As it came; null: there is none, several, or it is no date. */
  readonly lastModified: string | null
  /** The same in milliseconds. */
  readonly lastModifiedAt: number | null
  /** Whether `Last-Modified` is a strong validator (RFC 9110 §8.8.2.2). */
  readonly isLastModifiedStrong: boolean
}

/** `date` is its own Date, or null. */
export const parseValidators = (fields: HeaderFields, date: number | null, now: number): Validators => {
  const etag = onlyLine(fieldLines(fields, 'etag'))
  const modified = onlyLine(fieldLines(fields, 'last-modified'))
  const lastModifiedAt = modified === null ? null : parseHttpDate(modified, now)
  return {
    etag: etag !== null && isEntityTag(etag) ? etag : null,
    lastModified: lastModifiedAt === null ? null : modified,
    lastModifiedAt,
    // Both are of one clock. Within the same second it could have been modified again.
    isLastModifiedStrong: lastModifiedAt !== null && date !== null && date - lastModifiedAt >= 1000,
  }
}

export const hasValidator = ({ etag, lastModified }: Validators): boolean => etag !== null || lastModified !== null

const onlyLine = (lines: readonly string[]): string | null => (lines.length === 1 ? (lines[0] ?? null) : null)

// RFC 9110 §8.8.3: no escapes, so a backslash is a character like any other. W/ is case-sensitive.
const entityTag = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/
const nextTag = /[ \t,]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/y

export const isEntityTag = (text: string): boolean => entityTag.test(text)

/** Tells whether an entity tag is weak: representations with the same one are equivalent, not identical. */
export const isWeak = (tag: string): boolean => tag.startsWith('W/')

/** Compares two entity tags weakly (RFC 9110 §8.8.3.2): enough where the whole response is meant. */
export const matchesWeakly = (one: string, other: string): boolean => opaque(one) === opaque(other)

/** Compares two entity tags strongly (RFC 9110 §8.8.3.2): required where parts of responses are put together. */
export const matchesStrongly = (one: string, other: string): boolean => one === other && !isWeak(one)

/** Tells whether a list of entity tags has a weak match. What follows a malformed member is not read. */
export const listMatchesWeakly = (list: string, tag: string): boolean => {
  nextTag.lastIndex = 0
  for (let found = nextTag.exec(list); found !== null; found = nextTag.exec(list)) {
    if (matchesWeakly(found[1] as string, tag)) return true
  }
  return false
}

const opaque = (tag: string): string => (isWeak(tag) ? tag.slice(2) : tag)
