/**
 * Tells whether no two items of an array are equal (JSON Schema 2020-12 validation §6.4.3), in time that grows with the
 * array alone. Ajv compares each item with each other one: an array of 1 MiB would hold the process for minutes.
 * `takeStep` is called with each value and each name in the items, and with what an item is looked up by: what counts
 * them for a client's message, and by default nothing, for the operator's own file.
 */
export const hasUniqueItems = (items: readonly unknown[], takeStep: (value: unknown) => void = ignore): boolean => {
  const toCanonicalText = (value: unknown): string => {
    takeStep(value)
    if (typeof value === 'string') return JSON.stringify(value)
    if (typeof value !== 'object' || value === null) return String(value)
    // A text that grows takes a third of the time of a list that is joined.
    let text = ''
    if (Array.isArray(value)) {
      for (const item of value) text += `${toCanonicalText(item)},`
      return `[${text}]`
    }
    const members = value as Readonly<Record<string, unknown>>
    for (const name of Object.keys(members).sort())
      text += `${toCanonicalText(name)}:${toCanonicalText(members[name])},`
    return `{${text}}`
  }
  // A primitive is itself; an object is a text that no string of the array can be confused with.
  const toKey = (item: unknown): unknown => {
    if (typeof item === 'object') return toCanonicalText(item)
    takeStep(item)
    return typeof item === 'string' ? `"${item}` : item
  }
  const seen = new Set<unknown>()
  for (const item of items) {
    const key = toKey(item)
    takeStep(key)
    if (seen.has(key)) return false
    seen.add(key)
  }
  return true
}

const ignore = (): void => {}
