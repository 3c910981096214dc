import { createRequire } from 'node:module'
import type { Event } from 'js-yaml'

/**
 * Reads a text that is a list in YAML, with js-yaml: it takes a tenth of what the parser `yaml` takes, and cannot tell where anything stands.
 * Undefined: it is no list, or something is wrong with it, or the two could differ about it, and `yaml` says what it is; of what is read here
 * that one would have made the very same.
 */
export const quickYaml = (text: string): { readonly tree: readonly unknown[] } | undefined => {
  if (unsure.test(text) || misread.test(text) || text.includes('${')) return undefined
  read ??= readerOf(createRequire(import.meta.url)('js-yaml'))
  try {
    const tree = read(text)
    return Array.isArray(tree) ? { tree } : undefined
  } catch {
    // It throws others than its own errors as well, and those quote the text.
    return undefined
  }
}

// Libraries differ about what else than ASCII is blank or ends a line, about where a document ends, and about how far a colon is from its key.
const unsure = /[^\n\x20-\x7e]|^(?:---|\.\.\.)|:(?<= {256}:)/m
// A value without quotes in a line of its own below a comment: `yaml` (2.9.1) takes what follows it for the rest of it.
const misread = /^ *#.*\n[ \n]*(?![ \n#]|- |[^#\n]*:(?: |$))./m

// No client is half as deep; a text that is made to be would leave no room on the stack.
const maxDepth = 32

// YAML 1.2.2 §7.4.2: a key ends within 1,024 characters, which js-yaml does not ask for.
const longestKey = 256

/** Is made for the first text: most configurations have none, and to load the library takes some milliseconds. */
let read: ((text: string) => unknown) | null = null

const readerOf = (jsYaml: typeof import('js-yaml')): ((text: string) => unknown) => {
  const { constructFromEvents, CORE_SCHEMA, EVENT_ID, floatCoreTag, mapTag, NOT_RESOLVED, parseEvents } = jsYaml
  const refused = 'is for the other parser'
  // js-yaml makes a text of a key that is `null` or `0x1f`, and the configuration knows no `__proto__`.
  const addPair: typeof mapTag.addPair = (map, key, value) =>
    typeof key === 'string' && key !== '__proto__' && key.length <= longestKey
      ? mapTag.addPair(map, key, value)
      : refused
  // No client has a fraction, and one that is too large is a text to js-yaml and infinite to the other.
  const resolve: typeof floatCoreTag.resolve = (...plain) => {
    const made = floatCoreTag.resolve(...plain)
    if (made === NOT_RESOLVED && Number.isNaN(Number(plain[0]))) return made
    throw new Error(refused)
  }
  const schema = CORE_SCHEMA.withTags({ ...mapTag, addPair }, { ...floatCoreTag, resolve })
  const isRefused = (event: Event): boolean => {
    if (event.type === EVENT_ID.DOCUMENT || event.type === EVENT_ID.POP) return false
    // The configuration has no tags and counts its aliases; a list of clients needs neither.
    if (event.type === EVENT_ID.ALIAS || event.anchorStart !== -1 || event.tagStart !== -1) return true
    // What is more than a piece of the text: values of several lines and those with escapes.
    return event.type === EVENT_ID.SCALAR && event.valueStart !== -1 && !event.fast
  }
  return (source) => {
    const events = parseEvents(source, { maxDepth })
    return events.some(isRefused) ? undefined : constructFromEvents(events, { source, schema })[0]
  }
}
