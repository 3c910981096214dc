import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import type * as z from 'zod'
import type { IncludedFile, IncludeFiles } from '../../../core/config/config-part.ts'
import type { Environment } from '../../../core/config/environment.ts'
import { issuesFromZod, notUtf8Problem } from '../../../core/config/load/issues.ts'
import {
  isReadError,
  readFileWithLimit,
  type SourceFile,
  toSourceFile,
} from '../../../core/config/load/source-files.ts'
import {
  type ConfigIssue,
  type FilePosition,
  fileProblem,
  type KeyPath,
  type LocatableIssue,
  type PositionLookup,
} from '../../../core/config/problem.ts'
import { rawAt } from '../../../core/config/rules/rule.ts'
import { ExternalValue } from '../../../core/config/schema/scalar-kind.ts'
import { parseYamlSource, toPlainTree } from '../../../core/config/yaml/yaml-document.ts'
import { createPositionFinder, findOffset } from '../../../core/config/yaml/yaml-nodes.ts'
import { parseJson } from '../../../core/lib/plain-object.ts'
import { type ClientConfig, clientSchema, isClientFileReference, maxClients } from './config.ts'
import { clientsDigest } from './serialize-clients.ts'

// The serving thread compares the contents of all files at each `reload.poll`.
const maxFiles = 16

/** Consecutive clients of one file. `file` null: the configuration itself. `shown`: the reference as written. */
interface ClientRun {
  readonly file: ClientFile | null
  readonly shown: string | null
  /** The first client's index in the whole list, and in its file. */
  readonly start: number
  readonly startInFile: number
  count: number
}

/** Replaces each file reference in `clients` by its clients. Null: `clients` has another type. */
export const includeFiles: IncludeFiles = (tree, folder, environment) => {
  const stated = rawAt(tree, ['clients'])
  const soleReference = parseReference(stated)
  if (soleReference === null && !Array.isArray(stated)) return null
  const entries: readonly unknown[] = soleReference === null && Array.isArray(stated) ? stated : [stated]
  const list: unknown[] = []
  const parts: ClientRun[] = []
  const issues: LocatableIssue[] = []
  const files: ClientFile[] = []
  const sources: SourceFile[] = []
  const addOwnEntry = (entry: unknown, index: number): KeyPath => {
    const last = parts.at(-1)
    if (last?.file === null) last.count++
    else parts.push({ file: null, shown: null, start: list.length, startInFile: index, count: 1 })
    return ['clients', list.push(entry) - 1]
  }
  for (const [index, entry] of entries.entries()) {
    const reference = parseReference(entry)
    if (reference === null) {
      addOwnEntry(entry, index)
      continue
    }
    const read = sources.length < maxFiles ? readClientFile(folder, reference.name, environment) : null
    if (read !== null) sources.push(read.source)
    if (read === null || 'reason' in read) {
      issues.push({
        path: addOwnEntry(entry, index),
        message: `the file cannot be used: ${read?.reason ?? 'there are too many'}`,
        expected: `at most ${maxFiles} readable lists of clients`,
        found: reference.shown,
      })
      continue
    }
    const isOfClient = ({ path: [nth] }: ConfigIssue): boolean => typeof nth === 'number' && nth < read.list.length
    for (const { path, ...issue } of read.issues.filter(isOfClient))
      issues.push({ ...issue, path: ['clients', list.length + Number(path[0]), ...path.slice(1)] })
    const file = { ...read, issues: read.issues.filter((each) => !isOfClient(each)) }
    files.push(file)
    parts.push({ file, shown: reference.shown, start: list.length, startInFile: 0, count: file.list.length })
    for (const each of file.list) list.push(each)
  }
  return {
    key: 'clients',
    value: list, // an unreadable file's reference stays
    files,
    sources,
    issues,
    validate() {
      const { clients, issues } = validateClients(list)
      const shownParts = parts.map(({ shown, count }) => ({ file: shown, count }))
      return { issues, config: { clients, clientsSource: { parts: shownParts, digest: clientsDigest(clients) } } }
    },
    toFilePath(path) {
      const [, index, ...below] = path
      if (typeof index !== 'number') return { file: null, path }
      const { file, start, startInFile } = parts.findLast((part) => part.start <= index && part.count > 0) ?? emptyRun
      const inFile = [index - start + startInFile, ...below]
      if (file !== null) return { file, path: inFile }
      return { file, path: ['clients', ...(soleReference === null ? inFile : below)] }
    },
  }
}

const emptyRun = { file: null, start: 0, startInFile: 0 }

const parseReference = (value: unknown): { readonly name: string; readonly shown: string } | null => {
  const text = value instanceof ExternalValue ? value.text : value
  if (typeof text !== 'string' || !isClientFileReference(text)) return null
  return { name: text.slice('file:'.length), shown: value instanceof ExternalValue ? value.asWritten : text }
}

export const validateClients = (
  list: readonly unknown[],
): { readonly clients: readonly ClientConfig[]; readonly issues: readonly ConfigIssue[] } => {
  const clients: ClientConfig[] = []
  const zodIssues: z.core.$ZodIssue[] = []
  for (const [index, entry] of list.entries()) {
    const { data, error } = clientSchema.safeParse(entry)
    if (data !== undefined) clients.push({ ...data, burst: data.burst ?? data.rate?.count ?? null })
    for (const zodIssue of error?.issues ?? [])
      zodIssues.push({ ...zodIssue, path: ['clients', index, ...zodIssue.path] })
  }
  const issues = issuesFromZod(zodIssues, { clients: list })
  if (list.length <= maxClients) return { clients, issues }
  const expected = `at most ${maxClients}`
  const tooMany = { path: ['clients'], message: 'too many entries', expected, found: String(list.length) }
  return { clients, issues: [tooMany, ...issues] }
}

// Room for more than 100,000 clients.
const maxBytes = 32 * 1024 ** 2
// The YAML parser takes 1 s per MiB, and 50 times the text's memory.
const maxYamlBytes = 4 * 1024 ** 2

interface ClientFile extends IncludedFile {
  readonly list: readonly unknown[]
  readonly source: SourceFile
}

/** An unreadable file is watched like any other source, so that its return is noticed. */
type UnreadClientFile = Pick<ClientFile, 'source'> & { readonly reason: string }

const readClientFile = (folder: string, name: string, variables: Environment): ClientFile | UnreadClientFile => {
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
  const { tree, issues } = toPlainTree(document, variables)
  const { at, locate } = document
  return { ...emptyFile, ...(tree === undefined ? {} : requireList(file, tree)), issues, at, locate, file, source }
}

const start: FilePosition = { line: 1, column: 1 }

/** An empty file is an empty list: operators start with one. */
const emptyFile = { list: [], issues: [], problems: [], at: () => start, locate: () => start } as const

const requireList = (file: string, tree: unknown): Pick<ClientFile, 'list' | 'problems'> => {
  if (Array.isArray(tree)) return { list: tree, problems: [] }
  const found = typeof tree === 'object' && tree !== null ? 'a map' : 'something else'
  const hint = 'begin each client with a dash'
  return { list: [], problems: [{ ...fileProblem(file, 'not a list', 'a list of clients', found), hint }] }
}

/** Undefined: YAML must read the text. JSON.parse is 100 times as fast, but accepts equal keys and `__proto__`. */
const parsePlainJson = (text: string): { readonly tree: unknown } | undefined => {
  if (!/^\s*[[{]/.test(text) || text.includes('${')) return undefined
  const tree = parseJson(text)
  if (tree === undefined) return undefined
  // A key ends in a quote and a colon. A string value with both is counted too; then YAML reads the file, which only
  // costs time.
  const keys = text.match(/"[ \t\r\n]*:/g)?.length ?? 0
  return countKeys(tree, maxDepth) === keys ? { tree } : undefined
}

// Clients are less deep. A deeper text would overflow the stack.
const maxDepth = 32

/** NaN: a `__proto__`, or too deep. */
const countKeys = (value: unknown, depthLeft: number): number => {
  if (typeof value !== 'object' || value === null) return 0
  if (depthLeft === 0) return Number.NaN
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + countKeys(each, depthLeft - 1), 0)
  return Object.entries(value).reduce(
    (sum, [key, each]) => (key === '__proto__' ? Number.NaN : sum + 1 + countKeys(each, depthLeft - 1)),
    0,
  )
}

/** Parses only the entry with the problem as YAML, which has positions. */
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
