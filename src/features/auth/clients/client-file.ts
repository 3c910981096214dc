import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import type { IncludedFile } from '../../../core/config/config-part.ts'
import type { Environment } from '../../../core/config/environment.ts'
import { notUtf8Problem } from '../../../core/config/load/locate-issues.ts'
import { isReadError, readFileWithLimit } from '../../../core/config/load/read-file.ts'
import { type SourceFile, toSourceFile } from '../../../core/config/load/source-files.ts'
import { type FilePosition, fileProblem, type PositionLookup } from '../../../core/config/problem.ts'
import { createPositionFinder } from '../../../core/config/text-positions.ts'
import { parseYamlSource, toPlainTree } from '../../../core/config/yaml/yaml-document.ts'
import { findOffset } from '../../../core/config/yaml/yaml-nodes.ts'
import { parseJson } from '../../../core/lib/plain-object.ts'

// 100,000 clients fit, with room to spare.
const maxBytes = 32 * 1024 ** 2
// The YAML parser takes a second for each MiB, and fifty times as much memory as the text.
const maxYamlBytes = 4 * 1024 ** 2

export interface ClientFile extends IncludedFile {
  readonly list: readonly unknown[]
  readonly source: SourceFile
}

/** A file of clients that could not be read, and why. Its return is waited for as that of any other source. */
interface UnreadClientFile extends Pick<ClientFile, 'source'> {
  readonly reason: string
}

/** Reads a file of clients: a list in YAML or JSON. */
export const readClientFile = (
  folder: string,
  name: string,
  environment: Environment,
): ClientFile | UnreadClientFile => {
  const file = resolve(folder, name)
  const bytes = readFileWithLimit(file, maxBytes)
  if (isReadError(bytes)) return { reason: bytes.reason, source: toSourceFile(file, null, maxBytes) }
  const source = toSourceFile(file, bytes, maxBytes)
  if (!isUtf8(bytes)) return { ...emptyFile, file, source, problems: [notUtf8Problem(bytes, file)] }
  const text = new TextDecoder().decode(bytes)
  const json = parsePlainJson(text)
  if (json !== undefined)
    return { ...emptyFile, ...requireList(file, json.tree), ...jsonPositionLookup(text), file, source }
  if (bytes.length > maxYamlBytes) {
    const problem = fileProblem(file, 'too large for YAML', 'at most 4MiB of YAML, or 32MiB of JSON', 'more')
    const hint = 'write it as JSON, without placeholders and without a key that stands twice'
    return { ...emptyFile, file, source, problems: [{ ...problem, hint }] }
  }
  const document = parseYamlSource(text)
  if (document.usable && document.document.contents === null) return { ...emptyFile, file, source }
  const { tree, issues } = toPlainTree(document, environment)
  const { at, locate } = document
  return { ...emptyFile, ...(tree === undefined ? {} : requireList(file, tree)), issues, at, locate, file, source }
}

const start: FilePosition = { line: 1, column: 1 }

/** The result for an empty file, which is an empty list: an operator begins with one. */
const emptyFile = { list: [], issues: [], problems: [], at: () => start, locate: () => start } as const

const requireList = (file: string, tree: unknown): Pick<ClientFile, 'list' | 'problems'> => {
  if (Array.isArray(tree)) return { list: tree, problems: [] }
  const found = typeof tree === 'object' && tree !== null ? 'a map' : 'something else'
  const hint = 'begin each client with a dash'
  return { list: [], problems: [{ ...fileProblem(file, 'no list', 'a list of clients', found), hint }] }
}

/**
 * Parses a text of JSON without duplicate keys; undefined: it is something else, and the YAML parser reports on it.
 * JSON.parse is a hundred times as fast as that, but it takes the last of two equal keys, and gives `__proto__` a
 * meaning of its own.
 */
const parsePlainJson = (text: string): { readonly tree: unknown } | undefined => {
  if (!/^\s*[[{]/.test(text) || text.includes('${')) return undefined
  const tree = parseJson(text)
  if (tree === undefined) return undefined
  // Each key of the text is a quote and a colon. A string that looks like one only costs time: the YAML parser reads
  // the file then.
  const keys = text.match(/"[ \t\r\n]*:/g)?.length ?? 0
  return countKeys(tree, maxDepth) === keys ? { tree } : undefined
}

// No client is deeper. A text made deeper as an attack would overflow the stack.
const maxDepth = 32

/** Counts the keys of all maps; NaN for a text with `__proto__`, and for one that is too deep. */
const countKeys = (value: unknown, depthLeft: number): number => {
  if (typeof value !== 'object' || value === null) return 0
  if (depthLeft === 0) return Number.NaN
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + countKeys(each, depthLeft - 1), 0)
  return Object.entries(value).reduce(
    (sum, [key, each]) => (key === '__proto__' ? Number.NaN : sum + 1 + countKeys(each, depthLeft - 1)),
    0,
  )
}

/** Finds positions in a JSON list. It parses only the entry with the problem as YAML, which has positions. */
const jsonPositionLookup = (text: string): PositionLookup => {
  let starts: readonly number[] | null = null
  const at = createPositionFinder(text)
  return {
    at,
    locate([nth = 0, ...below], atKey = false) {
      starts ??= findEntryOffsets(text)
      const begin = starts[Number(nth)] ?? text.search(/\S/)
      const entry = parseYamlSource(text.slice(begin, starts[Number(nth) + 1]))
      return at(begin + findOffset(entry.document, below, atKey))
    },
  }
}

const findEntryOffsets = (text: string): readonly number[] => {
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
