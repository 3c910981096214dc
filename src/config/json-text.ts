// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of the configuration file look like these
import type { Path } from './problem.ts'

/**
 * Reads a text that is plain JSON and says nothing twice; undefined: it is not, and the parser of YAML says what it is. JSON.parse is a
 * hundred times as fast as that one, takes the last of two keys that are the same, and gives `__proto__` a meaning of its own.
 */
export const plainJson = (text: string): { readonly tree: unknown } | undefined => {
  if (!/^\s*[[{]/.test(text) || text.includes('${')) return undefined
  let tree: unknown
  try {
    tree = JSON.parse(text)
  } catch {
    return undefined
  }
  // Each key of the text is a quote and a colon. A string that looks like one makes it too many, which only costs time.
  const keys = text.match(/"[ \t\r\n]*:/g)?.length ?? 0
  return keysOf(tree, deepest) === keys ? { tree } : undefined
}

// No configuration is deeper; a text that is made to be would leave no room on the stack.
const deepest = 32

/** Counts the keys of all maps; not a number where one has a meaning of its own, or where it is too deep. */
const keysOf = (value: unknown, deeper: number): number => {
  if (typeof value !== 'object' || value === null) return 0
  if (deeper === 0) return Number.NaN
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + keysOf(each, deeper - 1), 0)
  let count = 0
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return Number.NaN
    count += 1 + keysOf((value as Readonly<Record<string, unknown>>)[key], deeper - 1)
  }
  return count
}

/**
 * Finds where a value of plain JSON stands, or its key; what is missing is placed at the deepest value above it that is there. The text is
 * known to be JSON: nothing else is looked for than what leads there.
 */
export const offsetInJson = (text: string, path: Path, atKey: boolean): number => {
  let at = skip(text, 0, blank)
  let key = at
  for (const step of path) {
    const found = typeof step === 'number' ? entryAt(text, at, step) : valueAt(text, at, step)
    if (found === null) return at
    key = found.key
    at = found.value
  }
  return atKey ? key : at
}

interface Found {
  readonly key: number
  readonly value: number
}

const entryAt = (text: string, list: number, index: number): Found | null => {
  if (text[list] !== '[') return null
  let at = skip(text, list + 1, blank)
  for (let nth = 0; text[at] !== ']'; nth++) {
    if (nth === index) return { key: at, value: at }
    at = skip(text, endOf(text, at), between)
  }
  return null
}

const valueAt = (text: string, map: number, name: string): Found | null => {
  if (text[map] !== '{') return null
  let at = skip(text, map + 1, blank)
  while (text[at] !== '}') {
    const end = endOf(text, at)
    const value = skip(text, end, colon)
    if (JSON.parse(text.slice(at, end)) === name) return { key: at, value }
    at = skip(text, endOf(text, value), between)
  }
  return null
}

/** Finds the end of the value that begins at a place. */
const endOf = (text: string, start: number): number => {
  let depth = 0
  let at = start
  do {
    const sign = text[at] ?? ''
    if (sign === '"') at = skip(text, at, string)
    else if ('[{'.includes(sign)) {
      depth++
      at++
    } else if (']}'.includes(sign)) {
      depth--
      at++
    } else at = skip(text, at, plain)
    if (depth > 0) at = skip(text, at, colonOrComma)
  } while (depth > 0 && at < text.length)
  return at
}

const blank = /[ \t\r\n]*/y
const between = /[ \t\r\n]*,?[ \t\r\n]*/y
const colon = /[ \t\r\n]*:[ \t\r\n]*/y
const colonOrComma = /[ \t\r\n,:]*/y
const string = /"[^"\\]*(?:\\.[^"\\]*)*"/y
const plain = /[^\s,:\]}[{"]+/y

const skip = (text: string, at: number, what: RegExp): number => {
  what.lastIndex = at
  return what.test(text) ? what.lastIndex : at + 1
}
