import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import { parseSource } from './document.ts'
import type { Environment } from './environment.ts'
import { offsetInJson, plainJson } from './json-text.ts'
import { notUtf8, type Places, whole } from './placed.ts'
import type { Path, Placed, Position, Problem } from './problem.ts'
import { quickYaml } from './quick-yaml.ts'
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

/**
 * Reads files of clients: lists, in YAML as the configuration is. Plain JSON and plain YAML are read many times as fast as the rest of it, and
 * whoever reads again what holds the same gets the very same entries.
 */
export class ClientFiles {
  /** What plain files, which depend on nothing else, said when a configuration was last read, and say now; by their names. */
  #before = new Map<string, ClientFile>()
  #now = new Map<string, ClientFile>()

  /** Reads a file; a text says why that cannot be done. */
  read(folder: string, name: string, environment: Environment): ClientFile | string {
    const file = resolve(folder, name)
    const bytes = readBounded(file, maxBytes)
    if (isUnread(bytes)) return bytes.reason
    const source = sourceOf(file, bytes, maxBytes)
    const before = this.#before.get(file)
    if (before !== undefined && before.source.digest === source.digest) {
      this.#now.set(file, before)
      return before
    }
    if (!isUtf8(bytes)) return { ...nothing, file, source, problems: [notUtf8(bytes, file)] }
    const text = new TextDecoder().decode(bytes)
    const found = plain(text, bytes.length <= maxYamlBytes)
    if (found === null) return parsed(file, text, bytes.length, source, environment)
    const read = { ...listed(file, found.tree), at: found.at, locate: found.locate, file, source }
    this.#now.set(file, read)
    return read
  }

  /** Says that a configuration has been read: files that it does not refer to are forgotten. */
  done(): void {
    this.#before = this.#now
    this.#now = new Map()
  }
}

const plain = (text: string, isShort: boolean): ({ readonly tree: unknown } & Places) | null => {
  const json = plainJson(text)
  if (json !== undefined) return { ...json, ...placesInJson(text) }
  const yaml = isShort ? quickYaml(text) : undefined
  return yaml === undefined ? null : { ...yaml, ...placesInYaml(text) }
}

const parsed = (
  file: string,
  text: string,
  bytes: number,
  source: SourceFile,
  environment: Environment,
): ClientFile => {
  if (bytes > maxYamlBytes) {
    const told = whole(file, 'too large for YAML', 'at most 4MiB of YAML, or 32MiB of JSON', 'more')
    const hint = 'write it as JSON, without placeholders and without a key that stands twice'
    return { ...nothing, file, source, problems: [{ ...told, hint }] }
  }
  const document = parseSource(text)
  if (document.usable && document.document.contents === null) return { ...nothing, file, source }
  const { tree, findings } = treeOf(document, environment)
  const { at, locate } = document
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
