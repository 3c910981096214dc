/** An object of JSON or YAML: values by name. */
export type PlainObject = Readonly<Record<string, unknown>>

/** Returns a value that is an object with names; an empty one for any other value. */
export const asPlainObject = (value: unknown): PlainObject => (isPlainObject(value) ? value : {})

/** Returns an own member; undefined for `toString` and what else every object has. */
export const ownMember = <T>(record: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined

/** Tells whether a value is an object with names, and neither null nor a list. */
export const isPlainObject = (value: unknown): value is PlainObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Parses JSON; undefined: the text is not JSON. */
export const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Parses a JSON object; null: the text is something else. */
export const parseJsonObject = (text: string): PlainObject | null => {
  const value = parseJson(text)
  return isPlainObject(value) ? value : null
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) deepFreeze(part)
  return Object.freeze(value)
}
