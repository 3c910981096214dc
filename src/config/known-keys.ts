import * as z from 'zod'
import type { Path } from './problem.ts'
import { configSchema } from './schema.ts'

/** Lists the keys that may stand at a path; empty where any key may. */
export const knownKeys = (path: Path): readonly string[] => [
  ...new Set(descend(configSchema, path).flatMap((schema) => Object.keys(shapeOf(schema)))),
]

type Schema = z.core.$ZodType

function descend(schema: Schema, path: Path): readonly Schema[] {
  const [key, ...rest] = path
  const branches = unwrap(schema)
  if (key === undefined) return branches
  return branches.flatMap((branch) => {
    if (branch instanceof z.ZodArray) return descend(branch.element, rest)
    const next = shapeOf(branch)[key]
    return next === undefined ? [] : descend(next, rest)
  })
}

const shapeOf = (schema: Schema): Readonly<Record<string, Schema>> =>
  schema instanceof z.ZodObject ? schema.shape : {}

/** Looks through defaults, unions and transforms at what a person writes. */
function unwrap(schema: Schema): readonly Schema[] {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return unwrap(schema.unwrap())
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(unwrap)
  if (schema instanceof z.ZodPipe) return unwrap(schema.in)
  return [schema]
}
