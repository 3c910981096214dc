import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import { parseSource } from './document.ts'
import type { Environment } from './environment.ts'
import { offsetInJson, plainJson } from './json-text.ts'
import { notUtf8, type Places, whole } from './placed.ts'
import { plainYaml } from './plain-yaml.ts'
import type { Path, Placed, Position, Problem } from './problem.ts'
import { isUnread, readBounded } from './read.ts'
import { type SourceFile, sourceOf } from './sources.ts'
import { treeOf } from './yaml-tree.ts'

// As much as 100,000 clients take, with room to spare.
const maxBytes = 32 * 1024 ** 2
// The parser of YAML takes a second for each MiB, and fifty times as much memory; it says where a problem is, even in what is read without it.
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

/** Reads a file of clients: a list, in YAML as the configuration is. Plain JSON and plain YAML are read many times as fast as the rest of it. */
export const readClientFile = (folder: string, name: string, environment: Environment): ClientFile | string => {
  const file = resolve(folder, name)
  const bytes = readBounded(file, maxBytes)
  if (isUnread(bytes)) return bytes.reason
  const source = sourceOf(file, bytes, maxBytes)
  const refused = (...problems: readonly Problem[]): ClientFile => ({ ...nothing, file, source, problems })
  if (!isUtf8(bytes)) return refused(notUtf8(bytes, file))
  const text = new TextDecoder().decode(bytes)
  const json = plainJson(text)
  if (json !== undefined) return { ...listed(file, json.tree), ...placesInJson(text), file, source }
  if (bytes.length > maxYamlBytes) {
    const told = whole(file, 'too large for YAML', 'at most 4MiB of YAML, or 32MiB of JSON', 'more')
    return refused({ ...told, hint: 'write it as JSON, without placeholders and without a key that stands twice' })
  }
  const yaml = plainYaml(text)
  if (yaml !== undefined) return { ...listed(file, yaml.tree), ...placesInYaml(text), file, source }
  const parsed = parseSource(text)
  if (parsed.usable && parsed.document.contents === null) return { ...nothing, file, source }
  const { tree, findings } = treeOf(parsed, environment)
  const { at, locate } = parsed
  return { ...(tree === undefined ? nothing : listed(file, tree)), findings, at, locate, file, source }
}

const start: Position = { line: 1, column: 1 }

/** An empty file is an empty list: that is how somebody begins. */
const nothing = { list: [], findings: [], problems: [], at: () => start, locate: () => start } as const

const listed = (file: string, tree: unknown): Pick<ClientFile, 'list' | 'findings' | 'problems'> => {
  if (Array.isArray(tree)) return { list: tree, findings: [], problems: [] }
  const found = typeof tree === 'object' && tree !== null ? 'a map' : 'something else'
  const hint = 'begin each client with a dash'
  return { list: [], findings: [], problems: [{ ...whole(file, 'no list', 'a list of clients', found), hint }] }
}

/** Has the parser of YAML find places, which only a problem is worth. */
const placesInYaml = (text: string): Places => {
  let parsed: Places | null = null
  const places = (): Places => {
    parsed ??= parseSource(text)
    return parsed
  }
  return { at: (offset) => places().at(offset), locate: (path, atKey) => places().locate(path, atKey) }
}

const placesInJson = (text: string): Places => {
  const at = (offset: number): Position => {
    const before = text.slice(0, offset)
    const line = before.split('\n').length
    return { line, column: offset - before.lastIndexOf('\n') }
  }
  return { at, locate: (path: Path, atKey = false) => at(offsetInJson(text, path, atKey)) }
}
