import * as z from 'zod'
import { weakMemo } from '../../lib/memo.ts'
import { configSchema, describedSchema } from '../config-schema.ts'
import { formatKey, type KeyPath } from '../problem.ts'
import { getAnnotations, type SchemaAnnotations } from './annotations.ts'
import { sharedDefinitions } from './scalar.ts'

type Schema = z.core.$ZodType

export interface SchemaKey extends SchemaAnnotations {
  /** `*` stands for any key, `#` for any index of a list. */
  readonly path: readonly string[]
}

// Memoized: each load walks the whole schema several times.
export const unwrapSchema: (schema: Schema) => readonly Schema[] = weakMemo((schema) => [
  schema,
  ...innerSchemas(schema).flatMap(unwrapSchema),
])

const innerSchemas = (schema: Schema): readonly Schema[] => {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return [schema.unwrap()]
  if (schema instanceof z.ZodPipe) return [schema.in]
  return schema instanceof z.ZodUnion ? schema.options : []
}

const mergeAnnotations = (layers: readonly Schema[]): SchemaAnnotations =>
  Object.assign({}, ...layers.map(getAnnotations))

const childSchemas = (schema: Schema): readonly (readonly [key: string, schema: Schema])[] => {
  if (schema instanceof z.ZodObject) return Object.entries<Schema>(schema.shape)
  if (schema instanceof z.ZodArray) return [['#', schema.element]]
  return schema instanceof z.ZodRecord ? [['*', schema.valueType]] : []
}

const collectKeys = (schema: Schema, path: readonly string[]): readonly SchemaKey[] => {
  const layers = unwrapSchema(schema)
  return [
    { path, ...mergeAnnotations(layers) },
    ...layers.flatMap(childSchemas).flatMap(([key, part]) => collectKeys(part, [...path, key])),
  ]
}

export const schemaKeys: readonly SchemaKey[] = collectKeys(configSchema, [])

export const knownKeys = (path: KeyPath): readonly string[] => {
  const { layers, isKnown } = schemaAt(path)
  if (!isKnown) return []
  return [...new Set(layers.flatMap((each) => (each instanceof z.ZodObject ? offeredKeys(each) : [])))]
}

const offeredKeys = ({ shape }: z.ZodObject): readonly string[] =>
  Object.entries<Schema>(shape).flatMap(([key, schema]) => (isForbidden(schema) ? [] : [key]))

export const isForbidden = (schema: Schema): boolean => mergeAnnotations(unwrapSchema(schema)).forbidden === true

export const holdsSecrets = (path: KeyPath): boolean => schemaAt(path).isHidden

/** Hides a key that is not a plain word where secrets may stand: the key may be a secret in the wrong column. */
export const redactKey = (key: string, parent: KeyPath): string => {
  const formatted = formatKey(key)
  return formatted !== key && holdsSecrets(parent) ? '"…"' : formatted
}

/** Entries of a list or record are as secret as the whole, unless their schema says otherwise. */
const schemaAt = (path: KeyPath) => {
  let layers = unwrapSchema(configSchema)
  let isHidden = false
  for (const key of path) {
    const next = layers
      .flatMap(childSchemas)
      .filter(([name]) => name === key || name === (typeof key === 'number' ? '#' : '*'))
    if (next.length === 0) return { layers, isKnown: false, isHidden }
    layers = next.flatMap(([, schema]) => unwrapSchema(schema))
    const { sensitive, secret } = mergeAnnotations(layers)
    isHidden = sensitive ?? secret ?? (isHidden && next.some(([name]) => name !== key))
  }
  return { layers, isKnown: true, isHidden }
}

export function jsonSchema(): Record<string, unknown> {
  const { definitions = {}, ...schema } = z.toJSONSchema(describedSchema, {
    io: 'input',
    target: 'draft-7',
    reused: 'inline',
    override: ({ zodSchema, jsonSchema: { properties = {} } }) => {
      if (!(zodSchema instanceof z.ZodObject)) return
      const offered = offeredKeys(zodSchema)
      for (const key of Object.keys(properties)) if (!offered.includes(key)) delete properties[key]
    },
  })
  return { ...schema, definitions: { ...Object(definitions), ...Object.fromEntries([...sharedDefinitions].sort()) } }
}

export const jsonSchemaText = (): string => `${JSON.stringify(jsonSchema(), null, 2)}\n`
