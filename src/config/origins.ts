import * as z from 'zod'
import { catalog, groups } from '../catalog.ts'
import { formatPath, type Path, type Position } from './problem.ts'
import { layersOf } from './schema/places.ts'
import { defaultsSchema } from './schema/upstreams.ts'
import { configSchema } from './schema.ts'

/** Says which level of the file won, and where it stands; line and column are 0 for what is built in. */
export interface Origin extends Position {
  readonly source: 'built-in' | 'file' | 'defaults' | 'upstream' | 'operation'
}

/** Holds the winner for each value, by its key path in the file: `upstreams.risk.timeouts.connect`. */
export type Origins = ReadonlyMap<string, Origin>

type Level = readonly [Origin['source'], Path]

/** Finds out for every value of the configuration which level states it: operation > upstream > defaults > built-in. */
export function originsOf(find: (path: Path) => Position | undefined): Origins {
  const origins = new Map<string, Origin>()
  const note = (path: Path, ...levels: readonly Level[]): void => {
    const stated = levels.flatMap(([source, at]): Origin[] => {
      const position = find(at)
      return position === undefined ? [] : [{ source, ...position }]
    })
    origins.set(formatPath(path), stated[0] ?? { source: 'built-in', line: 0, column: 0 })
  }

  const global = configSchema.omit({ version: true, defaults: true, upstreams: true, operations: true })
  for (const path of leaves(global)) note(path, ['file', path])
  // Of thousands of clients, each with its own: they stand where the clients do.
  for (const key of ['rate', 'concurrency']) note(['clients', key], ['file', ['clients']])
  for (const group of groups) {
    const own: Path = ['upstreams', group]
    note([...own, 'endpoints'], ['upstream', [...own, 'endpoints']], ['upstream', own])
    for (const key of ['host', 'request', 'response']) note([...own, key], ['upstream', [...own, key]])
    for (const key of upstreamPolicy) {
      note([...own, ...key], ['upstream', [...own, ...key]], ['defaults', ['defaults', ...key]])
    }
  }
  for (const { id, group } of catalog) {
    const own: Path = ['operations', id]
    for (const key of ['state', 'concurrency', 'idempotent', 'cache']) note([...own, key], ['operation', [...own, key]])
    note([...own, 'auth'], ['operation', [...own, 'auth']], ['file', ['auth']])
    for (const key of ['deadline', 'maxBody']) {
      const upstream: Level = ['upstream', ['upstreams', group, key]]
      note([...own, key], ['operation', [...own, key]], upstream, ['defaults', ['defaults', key]])
    }
  }
  return origins
}

/** Lists the keys that have a value of their own. A policy that may be off is one, and so is each of its keys. */
const leaves = (schema: z.core.$ZodType, path: Path = []): readonly Path[] =>
  layersOf(schema).flatMap((layer): readonly Path[] => {
    if (layer instanceof z.ZodObject)
      return Object.entries<z.core.$ZodType>(layer.shape).flatMap(([key, part]) => leaves(part, [...path, key]))
    return layersOf(layer).length === 1 ? [path] : []
  })

/** Lists the keys of `defaults` that a group may state as well, and no operation. */
const upstreamPolicy = leaves(defaultsSchema).filter(([key]) => key !== 'deadline' && key !== 'maxBody')
