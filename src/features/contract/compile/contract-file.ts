import { isUtf8 } from 'node:buffer'
import { locateIssues, notUtf8Problem } from '../../../core/config/load/issues.ts'
import {
  isReadError,
  readFileWithLimit,
  type SourceFile,
  toSourceFile,
} from '../../../core/config/load/source-files.ts'
import {
  type ConfigProblem,
  type FilePosition,
  fileProblem,
  formatKeyPath,
  type KeyPath,
} from '../../../core/config/problem.ts'
import { maxAliases, prototypeKey, tooManyAliases } from '../../../core/config/yaml/syntax-issues.ts'
import { parseYamlSource, type YamlSource } from '../../../core/config/yaml/yaml-document.ts'
import { createPositionFinder } from '../../../core/config/yaml/yaml-nodes.ts'
import { maxJsonDepth, parseStrictJson } from '../check/strict-json.ts'
import { findRepeatedName, type JsonNode, type JsonSyntaxFault, jsonProblem, parseJsonNodes } from './json-nodes.ts'

export const maxContractBytes = 8 * 1024 ** 2
// The YAML parser takes 1 s for each MiB, and fifty times as much memory as the text.
const maxYamlBytes = 2 * 1024 ** 2

export interface ContractFile {
  readonly file: string
  /** Undefined: the file has problems, and cannot be read further. */
  readonly tree: unknown
  readonly locate: (path: KeyPath, atKey?: boolean) => FilePosition
  readonly problems: readonly ConfigProblem[]
  readonly source: SourceFile
  readonly length: number
}

export const readContractFile = (file: string, limit: number): ContractFile | string => {
  const bytes = readFileWithLimit(file, limit)
  if (isReadError(bytes)) return bytes.reason
  const read = { file, source: toSourceFile(file, bytes, maxContractBytes), length: bytes.length }
  const nowhere = (): FilePosition => ({ line: 1, column: 1 })
  const broken = (problem: ConfigProblem) => ({ ...read, tree: undefined, locate: nowhere, problems: [problem] })
  if (!isUtf8(bytes)) return broken(notUtf8Problem(bytes, file))
  const text = new TextDecoder().decode(bytes)
  // A hundred times as fast as YAML, which finds the same faults and their places.
  const json = /^\s*\{/.test(text) ? parseStrictJson(Buffer.from(text)) : null
  if (json !== null && 'value' in json) {
    const at = createPositionFinder(text)
    let root: JsonNode | null = null
    const locate = (path: KeyPath, atKey = false): FilePosition => {
      root ??= parseJsonNodes(text, maxJsonDepth) as JsonNode // it is valid
      return at(findOffset(root, path, atKey))
    }
    const path = findPrototypeKey(json.value)
    if (path === null) return { ...read, tree: json.value, locate, problems: [] }
    return broken({ file, ...locate(path, true), path: formatKeyPath(path), ...prototypeKey })
  }
  if (bytes.length > maxYamlBytes && json !== null)
    return broken(jsonProblem(file, text, 'the file is not JSON, and too large for YAML', findJsonFault(text)))
  if (bytes.length > maxYamlBytes) {
    const problem = fileProblem(file, 'too large for YAML', 'at most 2MiB of YAML, or 8MiB of JSON', 'more')
    return broken({ ...problem, hint: 'write it as JSON, or refer from it to smaller files' })
  }
  const source = parseYamlSource(text)
  const { tree, issues } = toTree(source)
  return { ...read, tree, locate: source.locate, problems: locateIssues(issues, source, file) }
}

const findJsonFault = (text: string): JsonSyntaxFault => {
  const root = parseJsonNodes(text, maxJsonDepth)
  if ('expected' in root) return root
  return findRepeatedName(root) ?? { offset: 0, expected: `at most ${maxJsonDepth} levels` }
}

/** In any spelling: setting `__proto__` would give an object other members. */
const findPrototypeKey = (value: unknown): KeyPath | null => {
  if (typeof value !== 'object' || value === null) return null
  if (Object.hasOwn(value, '__proto__')) return ['__proto__']
  for (const [key, entry] of Object.entries(value)) {
    const found = findPrototypeKey(entry)
    if (found !== null) return [Array.isArray(value) ? Number(key) : key, ...found]
  }
  return null
}

const toTree = ({ document, issues, usable }: YamlSource): { tree: unknown; issues: YamlSource['issues'] } => {
  if (!usable) return { tree: undefined, issues }
  try {
    const tree: unknown = document.toJS({ maxAliasCount: maxAliases + 1 })
    return { tree: findPrototypeKey(tree) === null ? tree : undefined, issues }
  } catch {
    return { tree: undefined, issues: issues.length === 0 ? [{ path: [], ...tooManyAliases }] : issues }
  }
}

/** A missing value has the offset of the nearest value above. */
const findOffset = (root: JsonNode, path: KeyPath, atKey = false): number => {
  let node = root
  let found = root.start
  for (const key of path) {
    if (node.kind === 'scalar') break
    const entry = node.kind === 'array' ? node.entries[Number(key)] : node.entries.find(({ name }) => name === key)
    if (entry === undefined) break
    node = entry.value
    found = atKey || node.kind !== 'scalar' ? entry.nameStart : node.start
  }
  return found
}
