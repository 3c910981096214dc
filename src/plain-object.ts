/** An object of JSON or YAML: values by name. */
export type PlainObject = Readonly<Record<string, unknown>>

/** Tells whether a value is an object with names, and neither null nor a list. */
export const isPlainObject = (value: unknown): value is PlainObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
