import * as z from 'zod'
import { allOperations, groups } from '../../../operations.ts'
import { configSchema, operationKeys, sections, upstreamKeys } from '../config-schema.ts'
import { type FilePosition, formatKeyPath, type KeyPath } from '../problem.ts'
import { isForbidden, unwrapSchema } from '../schema/schema-keys.ts'
import { defaultsSchema, operationDefaults } from '../sections/upstream-defaults.ts'

/** The level that states a value, and its position; 0:0 for a built-in value. */
export interface Provenance extends FilePosition {
  /** `built-in`, `file`, `defaults`, `upstream`, `operation`, or the key of an upstream nested in a group. */
  readonly source: string
}

export type ProvenanceMap = ReadonlyMap<string, Provenance>

type Level = readonly [Provenance['source'], KeyPath]

/** Finds the level that states each value: operation (or candidate) > upstream > defaults > built-in. */
export function collectProvenance(locateStated: (path: KeyPath) => FilePosition | undefined): ProvenanceMap {
  const provenance = new Map<string, Provenance>()
  const recordLevels = (path: KeyPath, ...levels: readonly Level[]): void => {
    const stated = levels.flatMap(([source, at]): Provenance[] => {
      const position = locateStated(at)
      return position === undefined ? [] : [{ source, ...position }]
    })
    provenance.set(formatKeyPath(path), stated[0] ?? { source: 'built-in', line: 0, column: 0 })
  }
  const record = (path: KeyPath, source: string, ...below: readonly Level[]): void =>
    recordLevels(path, [source, path], ...below)

  for (const path of globalPaths) record(path, 'file')
  for (const { key, entryKeys = [] } of sections)
    for (const entryKey of entryKeys) recordLevels([key, entryKey], ['file', [key]])
  for (const group of groups) {
    const base: KeyPath = ['upstreams', group]
    record([...base, 'endpoints'], 'upstream', ['upstream', base])
    for (const key of ['host', 'request', 'response']) record([...base, key], 'upstream')
    for (const key of upstreamPolicyPaths) record([...base, ...key], 'upstream', ['defaults', ['defaults', ...key]])
    for (const { key: source, ownPaths } of nestedUpstreams) {
      const nested: KeyPath = [...base, source]
      if (locateStated(nested) === undefined) continue
      record([...nested, 'endpoints'], source, [source, nested])
      for (const key of ownPaths) record([...nested, ...key], source)
      for (const key of inheritedPaths)
        record([...nested, ...key], source, ['upstream', [...base, ...key]], ['defaults', ['defaults', ...key]])
    }
  }
  for (const { id, group } of allOperations) {
    const base: KeyPath = ['operations', id]
    record([...base, 'state'], 'operation')
    for (const { path, isInherited } of operationPaths)
      record([...base, ...path], 'operation', ...(isInherited ? [['file', path] as const] : []))
    for (const key of ['deadline', 'maxBody'])
      record([...base, key], 'operation', ['upstream', ['upstreams', group, key]], ['defaults', ['defaults', key]])
  }
  return provenance
}

/** A policy that may be off counts, and so does each of its keys. */
const leafPaths = (schema: z.core.$ZodType, path: KeyPath = []): readonly KeyPath[] =>
  unwrapSchema(schema).flatMap((layer): readonly KeyPath[] => {
    if (layer instanceof z.ZodObject)
      return Object.entries<z.core.$ZodType>(layer.shape).flatMap(([key, part]) => leafPaths(part, [...path, key]))
    return unwrapSchema(layer).length === 1 ? [path] : []
  })

const globalPaths = leafPaths(configSchema.omit({ version: true, defaults: true, upstreams: true, operations: true }))

const upstreamPolicyPaths = leafPaths(configSchema.shape.defaults.unwrap().omit(operationDefaults))

const inheritedPaths: readonly KeyPath[] = [
  ...['host', 'request', 'response'].map((key) => [key]),
  ...leafPaths(defaultsSchema.omit(operationDefaults)),
]

/** Keys of features. Those inside a policy inherit from the section of the same name. */
const operationPaths = operationKeys.flatMap(({ key, get, post, isInherited = false }) =>
  [get, post]
    .flatMap((schema) => (schema === undefined || isForbidden(schema) ? [] : [leafPaths(schema, [key])]))
    .slice(0, 1) // both methods have the same paths
    .flat()
    .map((path) => ({ path, isInherited: isInherited || path.length > 1 })),
)

const nestedUpstreams = upstreamKeys.flatMap(({ key, schema, isUpstream }) => {
  const ownPaths = leafPaths(schema).filter(
    ([name]) => name !== 'endpoints' && !inheritedPaths.some(([inherited]) => inherited === name),
  )
  return isUpstream ? [{ key, ownPaths }] : []
})
