/**
 * Tells whether no two items of an array are equal (JSON Schema 2020-12 validation §6.4.3), in time that grows with the
 * array alone. Ajv compares each item with each other one: an array of 1 MiB would hold the process for minutes.
 */
export const hasUniqueItems = (items: readonly unknown[]): boolean => {
  const seen = new Set<unknown>()
  for (const item of items) {
    // A primitive is itself; an object is a text that no string of the array can be confused with.
    const key = typeof item === 'object' ? toCanonicalText(item) : typeof item === 'string' ? `"${item}` : item
    if (seen.has(key)) return false
    seen.add(key)
  }
  return true
}

const toCanonicalText = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(toCanonicalText).join()}]`
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${toCanonicalText((value as Readonly<Record<string, unknown>>)[name])}`)
  return `{${members.join()}}`
}
