import { dirname } from 'node:path'
import { deepFreeze } from '../../lib/plain-object.ts'
import { configParts } from '../config-part.ts'
import type { Environment } from '../environment.ts'
import { type LoadResult, type OpenedConfig, openConfig, parseConfigBytes } from './load.ts'

const namedFiles = configParts.flatMap(({ namedFile }) => namedFile ?? [])
const readers = new Map(await Promise.all(namedFiles.map(async (file) => [file, await file.load()] as const)))

export const loadConfig = (file: string, environment: Environment = process.env): LoadResult =>
  complete(openConfig(file, environment), file)

export const parseConfig = (bytes: Uint8Array, file: string, environment: Environment): LoadResult =>
  complete(parseConfigBytes(bytes, file, environment), file)

const complete = (opened: OpenedConfig, file: string): LoadResult => {
  const read = opened.named.flatMap(({ name, file: named }) => readers.get(named)?.(dirname(file), name) ?? [])
  const result = opened.complete(read)
  return result.ok ? { ...result, config: deepFreeze(result.config) } : result
}
