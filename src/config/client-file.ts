import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import { LineCounter } from 'yaml'
import { parseSource, positionIn, treeOf } from './document.ts'
import type { Environment } from './environment.ts'
import { offsetOf } from './nodes.ts'
import { notUtf8, type Places } from './placed.ts'
import { type Placed, type Position, type Problem, whole } from './problem.ts'
import { isUnread, readBounded } from './read.ts'
import { type SourceFile, sourceOf } from './sources.ts'

// As much as 100,000 clients take, with room to spare.
const maxBytes = 32 * 1024 ** 2
// The parser of YAML takes a second for each MiB, and fifty times as much memory.
const maxYamlBytes = 4 * 1024 ** 2

/** Is a file that holds clients, as read. */
export interface ClientFile extends Places {
  /** As problems name it. */
  readonly file: string
  readonly list: readonly unknown[]
  /** What is wrong with how it is written; paths start in this file. */
  readonly findings: readonly Placed[]
  /** What is wrong with it as a whole. */
  readonly problems: readonly Problem[]
  readonly source: SourceFile
}

/** Reads a file of clients: a list, in YAML as the configuration is, or in JSON. A text says why that cannot be done. */
export const readClientFile = (folder: string, name: string, environment: Environment): ClientFile | string => {
  const file = resolve(folder, name)
  const bytes = readBounded(file, maxBytes)
  if (isUnread(bytes)) return bytes.reason
  const source = sourceOf(file, bytes, maxBytes)
  if (!isUtf8(bytes)) return { ...nothing, file, source, problems: [notUtf8(bytes, file)] }
  const text = new TextDecoder().decode(bytes)
  const json = plainJson(text)
  if (json !== undefined) return { ...nothing, ...listed(file, json.tree), ...placesInJson(text), file, source }
  if (bytes.length > maxYamlBytes) {
    const problem = whole(file, 'too large for YAML', 'at most 4MiB of YAML, or 32MiB of JSON', 'more')
    const hint = 'write it as JSON, without placeholders and without a key that stands twice'
    return { ...nothing, file, source, problems: [{ ...problem, hint }] }
  }
  const document = parseSource(text)
  if (document.usable && document.document.contents === null) return { ...nothing, file, source }
  const { tree, findings } = treeOf(document, environment)
  const { at, locate } = document
  return { ...nothing, ...(tree === undefined ? {} : listed(file, tree)), findings, at, locate, file, source }
}

const start: Position = { line: 1, column: 1 }

/** An empty file is an empty list: that is how an operator begins. */
const nothing = { list: [], findings: [], problems: [], at: () => start, locate: () => start } as const

const listed = (file: string, tree: unknown): Pick<ClientFile, 'list' | 'problems'> => {
  if (Array.isArray(tree)) return { list: tree, problems: [] }
  const found = typeof tree === 'object' && tree !== null ? 'a map' : 'something else'
  const hint = 'begin each client with a dash'
  return { list: [], problems: [{ ...whole(file, 'no list', 'a list of clients', found), hint }] }
}

/**
 * Reads a text that is JSON and says nothing twice; undefined: it is not, and the parser of YAML says what it is. JSON.parse is a hundred times as
 * fast as that one, but takes the last of two keys that are the same, and gives `__proto__` a meaning of its own.
 */
const plainJson = (text: string): { readonly tree: unknown } | undefined => {
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

// No client is deeper; a text that is made to be would leave no room on the stack.
const deepest = 32

/** Counts the keys of all maps; not a number where one has a meaning of its own, or where it is too deep. */
const keysOf = (value: unknown, deeper: number): number => {
  if (typeof value !== 'object' || value === null) return 0
  if (deeper === 0) return Number.NaN
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + keysOf(each, deeper - 1), 0)
  return Object.entries(value).reduce(
    (sum, [key, each]) => (key === '__proto__' ? Number.NaN : sum + 1 + keysOf(each, deeper - 1)),
    0,
  )
}

/** Finds places in a list in JSON. Only the entry that a problem is in is parsed as YAML, which can tell where things stand: JSON is YAML. */
const placesInJson = (text: string): Places => {
  let starts: readonly number[] | null = null
  const lines = new LineCounter()
  const at = (offset: number): Position => positionIn(lines, offset)
  return {
    at,
    locate([nth = 0, ...below], atKey = false) {
      if (starts === null) {
        starts = entriesOf(text)
        for (let line = 0; line !== -1; line = text.indexOf('\n', line) + 1 || -1) lines.addNewLine(line)
      }
      const begin = starts[Number(nth)] ?? text.search(/\S/)
      const entry = parseSource(text.slice(begin, starts[Number(nth) + 1]))
      return at(begin + offsetOf(entry.document, below, atKey))
    },
  }
}

/** Finds where each entry of a list in JSON begins. */
const entriesOf = (text: string): readonly number[] => {
  const starts: number[] = []
  let depth = 0
  let isNext = false
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]|[^\s"[\]{},]+/g)) {
    if (isNext) starts.push(index)
    if (token === '[' || token === '{') depth++
    else if (token === ']' || token === '}') depth--
    isNext = depth === 1 && (token === ',' || (token === '[' && starts.length === 0))
  }
  return starts
}
