import { dirname } from 'node:path'
import { deepFreeze } from '../../lib/plain-object.ts'
import { configParts, type NamedFile, type ReadNamedFile } from '../config-part.ts'
import type { Environment } from '../environment.ts'
import { type LoadResult, type OpenedConfig, openConfig, parseConfigBytes } from './load.ts'

const readers = new Map(
  await Promise.all(configParts.flatMap(({ namedFile }) => (namedFile === undefined ? [] : [load(namedFile)]))),
)

/** Loads and resolves a configuration file, and compiles the files that it names. Never throws. */
export const loadConfig = (file: string, environment: Environment = process.env): LoadResult =>
  complete(openConfig(file, environment), file)

export const parseConfig = (bytes: Uint8Array, file: string, environment: Environment): LoadResult =>
  complete(parseConfigBytes(bytes, file, environment), file)

const complete = (opened: OpenedConfig, file: string): LoadResult => {
  const read = opened.named.flatMap(({ name, file: named }) => readers.get(named)?.(dirname(file), name) ?? [])
  const result = opened.complete(read)
  return result.ok ? { ...result, config: deepFreeze(result.config) } : result
}

async function load(file: NamedFile): Promise<readonly [NamedFile, ReadNamedFile]> {
  return [file, await file.load()]
}
