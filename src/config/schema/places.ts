/** Walks over the schema of the file: which keys there are, and what each is. */
import * as z from 'zod'
import { formatKey, type Path } from '../problem.ts'
import { configSchema } from '../schema.ts'
import { type Facts, factsOf } from './facts.ts'

type Schema = z.core.$ZodType

/** A key of the file, with its facts. */
export interface Place extends Facts {
  /** Its key path; `*` stands for any key, `#` for any place in a list. */
  readonly path: readonly string[]
}

/** Looks through defaults, unions and transforms at what a person writes; what is looked through comes first. */
export const layersOf = (schema: Schema): readonly Schema[] => [schema, ...within(schema).flatMap(layersOf)]

const within = (schema: Schema): readonly Schema[] => {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return [schema.unwrap()]
  if (schema instanceof z.ZodPipe) return [schema.in]
  return schema instanceof z.ZodUnion ? schema.options : []
}

const factsAt = (layers: readonly Schema[]): Facts => Object.assign({}, ...layers.map(factsOf))

/** Lists what may stand below a schema, each with its key. */
const below = (schema: Schema): readonly (readonly [key: string, schema: Schema])[] => {
  if (schema instanceof z.ZodObject) return Object.entries<Schema>(schema.shape)
  if (schema instanceof z.ZodArray) return [['#', schema.element]]
  return schema instanceof z.ZodRecord ? [['*', schema.valueType]] : []
}

const placesIn = (schema: Schema, path: readonly string[]): readonly Place[] => {
  const layers = layersOf(schema)
  return [
    { path, ...factsAt(layers) },
    ...layers.flatMap(below).flatMap(([key, part]) => placesIn(part, [...path, key])),
  ]
}

/** Lists every key that the file may have, with its facts. */
export const places: readonly Place[] = placesIn(configSchema, [])

/** Lists the keys that may stand at a path; empty where any key may. */
export const knownKeys = (path: Path): readonly string[] => {
  const { layers, isKnown } = found(path)
  return isKnown
    ? [...new Set(layers.flatMap((each) => (each instanceof z.ZodObject ? Object.keys(each.shape) : [])))]
    : []
}

/** Says whether a secret may stand at a path or below it: what is there is never shown. */
export const holdsSecrets = (path: Path): boolean => found(path).isHidden

/** Writes a key. Where a secret may stand, what is no plain word may be one in the wrong column, and is not shown. */
export const shownKey = (key: string, parent: Path): string => {
  const written = formatKey(key)
  return written !== key && holdsSecrets(parent) ? '"…"' : written
}

interface Found {
  readonly layers: readonly Schema[]
  /** Whether the schema knows the whole path; else this is of the deepest key that it knows. */
  readonly isKnown: boolean
  readonly isHidden: boolean
}

/** Finds what stands at a path. What stands in a list, or under any key, is as the whole of it is, unless its schema says otherwise. */
const found = (path: Path): Found => {
  let layers = layersOf(configSchema)
  let isHidden = false
  for (const key of path) {
    const next = layers
      .flatMap(below)
      .filter(([name]) => name === key || name === (typeof key === 'number' ? '#' : '*'))
    if (next.length === 0) return { layers, isKnown: false, isHidden }
    layers = next.flatMap(([, schema]) => layersOf(schema))
    const { unquoted, secret } = factsAt(layers)
    isHidden = unquoted ?? secret ?? (isHidden && next.some(([name]) => name !== key))
  }
  return { layers, isKnown: true, isHidden }
}
