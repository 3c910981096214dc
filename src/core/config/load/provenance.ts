import * as z from 'zod'
import { allOperations, type Group, groups, type Operation } from '../../../operations.ts'
import { configSchema, operationKeys, sections, upstreamKeys } from '../config-schema.ts'
import { type FilePosition, formatKeyPath, type KeyPath } from '../problem.ts'
import { isForbidden, unwrapSchema } from '../schema/schema-keys.ts'
import { defaultsSchema, operationDefaults } from '../sections/upstream-defaults.ts'

/** Line and column are 0 for a built-in value. */
export interface Provenance extends FilePosition {
  /** `built-in`, `file`, `defaults`, `upstream`, `operation`, or the key of an upstream nested in a group. */
  readonly source: string
}

export type ProvenanceMap = ReadonlyMap<string, Provenance>

type Level = readonly [Provenance['source'], KeyPath]

interface LeveledValue {
  readonly name: string
  readonly levels: readonly Level[]
}

const builtIn: Provenance = { source: 'built-in', line: 0, column: 0 }

/** Precedence: operation (or candidate) > upstream > defaults > built-in. */
export function collectProvenance(locateStated: (path: KeyPath) => FilePosition | undefined): ProvenanceMap {
  const provenance = new Map<string, Provenance>()
  const record = ({ name, levels }: LeveledValue): void => {
    for (const [source, at] of levels) {
      const position = locateStated(at)
      if (position !== undefined) return void provenance.set(name, { source, ...position })
    }
    provenance.set(name, builtIn)
  }
  leveledValues.forEach(record)
  for (const { path, values } of nestedUpstreams) if (locateStated(path) !== undefined) values.forEach(record)
  return provenance
}

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

/** Keys of features. A key inside a policy inherits from the top-level section of the same name. */
const operationPaths = operationKeys.flatMap(({ key, get, post, isInherited = false }) =>
  [get, post]
    .flatMap((schema) => (schema === undefined || isForbidden(schema) ? [] : [leafPaths(schema, [key])]))
    .slice(0, 1)
    .flat()
    .map((path) => ({ path, isInherited: isInherited || path.length > 1 })),
)

const stated = (path: KeyPath, source: string, ...below: readonly Level[]): LeveledValue => ({
  name: formatKeyPath(path),
  levels: [[source, path], ...below],
})

const fromDefaults = (key: KeyPath): Level => ['defaults', ['defaults', ...key]]

const fromUpstream = (group: Group): readonly LeveledValue[] => {
  const base: KeyPath = ['upstreams', group]
  return [
    stated([...base, 'endpoints'], 'upstream', ['upstream', base]),
    ...['host', 'request', 'response'].map((key) => stated([...base, key], 'upstream')),
    ...upstreamPolicyPaths.map((key) => stated([...base, ...key], 'upstream', fromDefaults(key))),
  ]
}

const fromOperation = ({ id, group }: Operation): readonly LeveledValue[] => {
  const base: KeyPath = ['operations', id]
  return [
    stated([...base, 'state'], 'operation'),
    ...operationPaths.map(({ path, isInherited }) =>
      stated([...base, ...path], 'operation', ...(isInherited ? [['file', path] as const] : [])),
    ),
    ...['deadline', 'maxBody'].map((key) =>
      stated([...base, key], 'operation', ['upstream', ['upstreams', group, key]], fromDefaults([key])),
    ),
  ]
}

const leveledValues = [
  ...globalPaths.map((path) => stated(path, 'file')),
  ...sections.flatMap(({ key, entryKeys = [] }) =>
    entryKeys.map((entryKey): LeveledValue => ({ name: formatKeyPath([key, entryKey]), levels: [['file', [key]]] })),
  ),
  ...groups.flatMap(fromUpstream),
  ...allOperations.flatMap(fromOperation),
]

const nestedUpstreams = upstreamKeys.flatMap(({ key: source, schema, isUpstream }) => {
  const ownPaths = leafPaths(schema).filter(
    ([name]) => name !== 'endpoints' && !inheritedPaths.some(([inherited]) => inherited === name),
  )
  if (!isUpstream) return []
  return groups.map((group) => {
    const base: KeyPath = ['upstreams', group]
    const path: KeyPath = [...base, source]
    const values = [
      stated([...path, 'endpoints'], source, [source, path]),
      ...ownPaths.map((key) => stated([...path, ...key], source)),
      ...inheritedPaths.map((key) =>
        stated([...path, ...key], source, ['upstream', [...base, ...key]], fromDefaults(key)),
      ),
    ]
    return { path, values }
  })
})
