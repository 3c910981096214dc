import { fieldNameEquals, getFieldValues, type HeaderFields, joinValues } from '../../../core/exchange/header-fields.ts'
import { parseHttpDate } from '../../../core/exchange/http1/http-date.ts'

/** RFC 9110 §5.3. `lower`: the name in lower case. */
export const joinFieldLines = (fields: HeaderFields, lower: string): string | null => {
  let value: string | null = null
  for (let i = 0; i < fields.length; i += 2)
    if (fieldNameEquals(fields[i] as string, lower)) value = joinValues(value, fields[i + 1] as string)
  return value
}

export const fieldLines = (fields: HeaderFields, lower: string): string[] =>
  getFieldValues(fields, lower).map((value) => value.trim())

/**
 * Splits at commas outside quoted strings, without empty members (RFC 9110 §5.6.1.2). `soundUntil`: index of the first
 * member with an unclosed quoted string, whose meaning is unknown; otherwise the number of members.
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
  if (!quoted) take(rest)
  const soundUntil = members.length
  if (quoted) for (const member of rest.split(',')) take(member)
  return { members, soundUntil }
}

export interface CacheDirective {
  readonly name: string // in lower case (RFC 9111 §5.2)
  readonly argument: string | null // unquoted
  /** False: a malformed directive, which restricts but never allows: `no-store;x` forbids, `public;x` does nothing. */
  readonly sound: boolean
}

// RFC 9111 §1.2.2: greater numbers count as 2^31 (68 years).
const maxSeconds = 2 ** 31

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
// RFC 9111 §5.2: any argument may be a token or a quoted string.
const directivePattern = new RegExp(`^(${token})(?:=(?:(${token})|"((?:[^"\\\\]|\\\\.)*)"))?$`, 's')
const nameAtStart = new RegExp(`^${token}`)
const fieldName = new RegExp(`^${token}$`)
const digits = /^[0-9]+$/

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

/** Malformed directives count too. */
export const restricts = (directives: readonly CacheDirective[], name: string): boolean =>
  directives.some((directive) => directive.name === name)

/** Only a well-formed directive without an argument counts. */
export const allows = (directives: readonly CacheDirective[], name: string): boolean =>
  directives.some((directive) => directive.name === name && directive.sound && directive.argument === null)

/** Milliseconds; null: absent; NaN: invalid, or several different values (RFC 9111 §4.2.1: then stale). */
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

/** RFC 9111 §1.2.2. NaN: no such number. */
export const parseDeltaSeconds = (text: string): number =>
  digits.test(text) ? Math.min(Number(text), maxSeconds) * 1000 : Number.NaN

// Without these the rest of the response could not be read or stored correctly.
const essential = /^(?:cache-control|content-.*|date|etag|expires|last-modified|vary)$/

/** In lower case; `all`: the whole response; null: no directive. */
export const directiveFields = (
  directives: readonly CacheDirective[],
  name: string,
): readonly string[] | 'all' | null => {
  let names: string[] | null = null
  for (const directive of directives) {
    if (directive.name !== name) continue
    const listed = directive.sound ? (directive.argument ?? '').toLowerCase().split(',') : []
    const named = listed.map((part) => part.trim()).filter((part) => part !== '')
    // No field, or an invalid one: the directive is about the whole response.
    if (named.length === 0 || named.some((part) => !fieldName.test(part) || essential.test(part))) return 'all'
    names = [...(names ?? []), ...named]
  }
  return names
}

export type Validators = Readonly<ReturnType<typeof parseValidators>>

/** RFC 9110 §8.8. As received; null: absent, repeated or invalid. `date`: the response's own Date. */
export const parseValidators = (fields: HeaderFields, date: number | null, now: number) => {
  const etag = onlyLine(fieldLines(fields, 'etag'))
  const modified = onlyLine(fieldLines(fields, 'last-modified'))
  const lastModifiedAt = modified === null ? null : parseHttpDate(modified, now)
  return {
    etag: etag !== null && isEntityTag(etag) ? etag : null,
    lastModified: lastModifiedAt === null ? null : modified,
    lastModifiedAt,
    // RFC 9110 §8.8.2.2: a further change within the same second would not show.
    isLastModifiedStrong: lastModifiedAt !== null && date !== null && date - lastModifiedAt >= 1000,
  }
}

export const hasValidator = ({ etag, lastModified }: Validators): boolean => etag !== null || lastModified !== null

const onlyLine = (lines: readonly string[]): string | null => (lines.length === 1 ? (lines[0] ?? null) : null)

// RFC 9110 §8.8.3: a backslash does not escape, and W/ is case-sensitive.
const entityTag = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/
const nextTag = /[ \t,]*((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*(?=,|$)/y

export const isEntityTag = (text: string): boolean => entityTag.test(text)

export const isWeak = (tag: string): boolean => tag.startsWith('W/')

/** RFC 9110 §8.8.3.2: enough for whole responses. */
export const matchesWeakly = (one: string, other: string): boolean => opaque(one) === opaque(other)

/** RFC 9110 §8.8.3.2: required for combining parts. */
export const matchesStrongly = (one: string, other: string): boolean => one === other && !isWeak(one)

/** Up to the first malformed member. */
export const listMatchesWeakly = (list: string, tag: string): boolean => {
  nextTag.lastIndex = 0
  for (let found = nextTag.exec(list); found !== null; found = nextTag.exec(list))
    if (matchesWeakly(found[1] as string, tag)) return true
  return false
}

const opaque = (tag: string): string => (isWeak(tag) ? tag.slice(2) : tag)
