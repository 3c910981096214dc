import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { joinFieldLines, parseListMembers } from './header-list.ts'

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
