export type PlainObject = Readonly<Record<string, unknown>>

export const asPlainObject = (value: unknown): PlainObject => (isPlainObject(value) ? value : {})

/** Undefined for `toString` and other inherited members. */
export const ownMember = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined

export const isPlainObject = (value: unknown): value is PlainObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const parseJsonObject = (text: string): PlainObject | null => {
  const value = parseJson(text)
  return isPlainObject(value) ? value : null
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}

/** RFC 6901 §3. */
export const escapeSegment = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** RFC 6901 §4. */
export const unescapeSegment = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~')
