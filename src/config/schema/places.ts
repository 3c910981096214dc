import * as z from 'zod'
import { configSchema } from '../schema.ts'
import { type Facts, factsOf } from './facts.ts'

/** A key of the file, with its facts. */
export interface Place extends Facts {
  /** Its key path; `*` stands for any key, `#` for any place in a list. */
  readonly path: readonly string[]
}

/** Looks through defaults, unions and transforms at what a person writes; what is looked through is listed as well, the outermost first. */
export const layersOf = (schema: z.core.$ZodType): readonly z.core.$ZodType[] => [
  schema,
  ...within(schema).flatMap(layersOf),
]

const within = (schema: z.core.$ZodType): readonly z.core.$ZodType[] => {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return [schema.unwrap()]
  if (schema instanceof z.ZodPipe) return [schema.in]
  return schema instanceof z.ZodUnion ? schema.options : []
}

/** Lists what may stand below a schema, each with its key. */
const below = (schema: z.core.$ZodType): readonly (readonly [key: string, schema: z.core.$ZodType])[] => {
  if (schema instanceof z.ZodObject) return Object.entries<z.core.$ZodType>(schema.shape)
  if (schema instanceof z.ZodArray) return [['#', schema.element]]
  return schema instanceof z.ZodRecord ? [['*', schema.valueType]] : []
}

const placesIn = (schema: z.core.$ZodType, path: readonly string[]): readonly Place[] => {
  const layers = layersOf(schema)
  const facts: Facts = Object.assign({}, ...layers.map(factsOf))
  return [{ path, ...facts }, ...layers.flatMap(below).flatMap(([key, part]) => placesIn(part, [...path, key]))]
}

/** Lists every key that the file may have, with its facts. */
export const places: readonly Place[] = placesIn(configSchema, [])
