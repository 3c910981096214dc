import type { Violation, ViolationPlace } from './compiled-contract.ts'

/** An error of Ajv, as far as it is used. */
export interface SchemaError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
}

/** So many violations of one message are told at most. */
export const maxViolations = 10

/** So many characters are told of a pointer and of a detail at most. */
export const maxTextLength = 200

/** Converts errors of Ajv. Names that the contract does not know are replaced by `*`. */
export const toViolations = (
  errors: readonly SchemaError[],
  value: unknown,
  place: ViolationPlace,
  prefix: string,
  memberNames: ReadonlySet<string>,
): readonly Violation[] => {
  const violations: Violation[] = []
  const seen = new Set<string>()
  for (const { instancePath, keyword, params, message = 'breaks the schema' } of errors) {
    // It says only that another one of the list stands.
    if (keyword === 'if' && errors.length > 1) continue
    const missing = params.missingProperty
    const path = redactPointer(instancePath, value, memberNames)
    const pointer = shorten(prefix + (typeof missing === 'string' ? `${path}/${escapeSegment(missing)}` : path))
    const key = `${pointer} ${keyword}`
    if (seen.has(key)) continue
    seen.add(key)
    violations.push({ pointer, in: place, rule: keyword, detail: shorten(message) })
    if (violations.length === maxViolations) break
  }
  return violations
}

/** Cuts a text off that is longer than {@link maxTextLength}: names of the contract may be of any length. */
export const shorten = (text: string): string =>
  text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).toWellFormed()}…`

/** Keeps the segments of a pointer that are an index of an array, or a name that the contract knows. */
const redactPointer = (pointer: string, root: unknown, memberNames: ReadonlySet<string>): string => {
  if (pointer === '') return ''
  let value = root
  let redacted = ''
  for (const segment of pointer.slice(1).split('/')) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~')
    redacted += Array.isArray(value) || memberNames.has(name) ? `/${segment}` : '/*'
    value = Object(value)[name]
  }
  return redacted
}

/** Escapes a name for a pointer (RFC 6901 §3). */
export const escapeSegment = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')
