import type { Violation, ViolationPlace } from '../../../core/exchange/failures/errors.ts'
import { escapeSegment, unescapeSegment } from '../../../core/lib/text/json-pointer.ts'

export interface SchemaError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
  readonly message?: string
}

export const noViolations: readonly Violation[] = []

/** So many violations of one message are told at most. */
export const maxViolations = 10

/** So many characters are told of a pointer and of a detail at most. */
export const maxTextLength = 200

/** Formats where a violation is: `body /id`. The empty pointer stands for the whole (RFC 6901 §5). */
export const formatViolationPlace = ({ in: place, pointer }: Pick<Violation, 'in' | 'pointer'>): string =>
  pointer === '' ? place : `${place} ${pointer}`

/** Converts errors of Ajv. Names that are not in `memberNames` are replaced by `*`; null: all may be told. */
export const toViolations = (
  errors: readonly SchemaError[],
  value: unknown,
  place: ViolationPlace,
  prefix: string,
  memberNames: ReadonlySet<string> | null,
): readonly Violation[] => {
  const violations: Violation[] = []
  const seen = new Set<string>()
  for (const error of errors) {
    const { keyword } = error
    // It says only that another one of the list stands.
    if (keyword === 'if' && errors.length > 1) continue
    const pointer = shorten(prefix + locate(error, value, memberNames))
    const ownPointer = shorten(prefix + locate(error, value, null))
    const key = `${ownPointer} ${keyword}`
    if (seen.has(key)) continue
    seen.add(key)
    const own = ownPointer === pointer ? {} : { ownPointer }
    violations.push({ pointer, ...own, in: place, rule: keyword, detail: shorten(describe(error)) })
    if (violations.length === maxViolations) break
  }
  return violations
}

/** Locates what breaks a rule: a member that is missing or not allowed, and not its object. */
const locate = ({ instancePath, params }: SchemaError, value: unknown, memberNames: ReadonlySet<string> | null) => {
  const { missingProperty: missing, additionalProperty, unevaluatedProperty, propertyName } = params
  // The contract requires it, and so may tell its name.
  if (typeof missing === 'string') return `${redactPointer(instancePath, value, memberNames)}/${escapeSegment(missing)}`
  const name = additionalProperty ?? unevaluatedProperty ?? propertyName
  const pointer = typeof name === 'string' ? `${instancePath}/${escapeSegment(name)}` : instancePath
  return redactPointer(pointer, value, memberNames)
}

const describe = ({ keyword, params, message = 'breaks the schema' }: SchemaError): string => {
  if (keyword === 'const') return `must be ${describeAllowed(params.allowedValue)}`
  if (keyword === 'enum' && Array.isArray(params.allowedValues))
    return `must be one of ${listAllowed(params.allowedValues)}`
  return keyword === 'false schema' ? 'must not be there' : message
}

/** Lists values of the contract, and ends where their text is cut off: there may be thousands. */
const listAllowed = (values: readonly unknown[]): string => {
  let list = ''
  for (const value of values) {
    if (list.length > maxTextLength) break
    list += `${list === '' ? '' : ', '}${describeAllowed(value)}`
  }
  return list
}

const describeAllowed = (value: unknown): string => {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, maxTextLength))
  return typeof value === 'object' && value !== null ? (Array.isArray(value) ? 'an array' : 'an object') : String(value)
}

/** Cuts a text off that is longer than {@link maxTextLength}: names of the contract may be of any length. */
export const shorten = (text: string): string =>
  text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength - 1).toWellFormed()}…`

/** Keeps the segments of a pointer that are an index of an array, or a name that the contract knows. */
const redactPointer = (pointer: string, root: unknown, memberNames: ReadonlySet<string> | null): string => {
  if (pointer === '' || memberNames === null) return pointer
  let value = root
  let redacted = ''
  for (const segment of pointer.slice(1).split('/')) {
    const name = unescapeSegment(segment)
    redacted += Array.isArray(value) || memberNames.has(name) ? `/${segment}` : '/*'
    value = Object(value)[name]
  }
  return redacted
}
