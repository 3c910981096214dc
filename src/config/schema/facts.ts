import * as z from 'zod'
import { type Effective, literal, Secret } from '../shown.ts'

/** What a schema does not say by itself: how its values are written back, and what a key is to those who walk over the file. */
export interface Facts {
  /** Writes a value as the file spells it; undefined: its key is left out. A method, so that each kind may take its own type. */
  write?(value: unknown): Effective | undefined
  /** Lists the keys of a map that say nothing beside what the others say: they are not written. */
  idle?(value: unknown): readonly string[]
  /** A secret: shown as `***`, compared by its hash, never quoted in a problem. */
  readonly secret?: true
  /** No secret, but one may stand here in a wrong place: never quoted in a problem. */
  readonly unquoted?: boolean
  /** Where `file:PATH` may stand, and whether what the file holds is one line. */
  readonly file?: 'line' | 'lines'
  /** What a running gateway cannot change. */
  readonly restart?: true
}

const stated = new WeakMap<z.core.$ZodType, Facts>()

/** Tells the facts of a schema; a copy that zod makes of one has the same. */
export const factsOf = (schema: z.core.$ZodType): Facts => {
  const { parent } = schema._zod
  return { ...(parent && factsOf(parent)), ...stated.get(schema) }
}

/** Adds facts to a schema. */
export const mark = <S extends z.core.$ZodType>(schema: S, more: Facts): S => {
  stated.set(schema, { ...stated.get(schema), ...more })
  return schema
}

/** Lets a key be left out: null then. */
export const optional = <S extends z.ZodType>(schema: S) => schema.optional().transform((value) => value ?? null)

/** Tells whether a schema was made by {@link optional}. */
export const isOptional = (schema: z.core.$ZodType): schema is z.ZodPipe<z.ZodOptional> =>
  schema instanceof z.ZodPipe && schema.in instanceof z.ZodOptional

/** Writes text, numbers and booleans as they are, and null as `none`. */
export const plain = (value: unknown): Effective => {
  if (value === null) return 'none'
  if (typeof value === 'string') return literal(value)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  throw new TypeError('a kind whose values are no plain ones says how they are written')
}

/** Writes a value in the shape and the spelling of the file, as its schema says; undefined: its key is left out. */
export const written = (schema: z.core.$ZodType, value: unknown): Effective | undefined => {
  if (value === undefined) return undefined
  const { write, secret } = factsOf(schema)
  if (secret && typeof value === 'string') return new Secret(value)
  if (write !== undefined) return write(value)
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return written(schema.unwrap(), value)
  if (schema instanceof z.ZodPipe) return isOptional(schema) && value === null ? undefined : written(schema.in, value)
  // Null is what the word in place of a policy stands for: `none`, `all`.
  if (schema instanceof z.ZodUnion) {
    const branch = schema.options.at(value === null ? 0 : -1)
    return branch && written(branch, value)
  }
  if (schema instanceof z.ZodObject) return writtenMap(schema, value)
  if (schema instanceof z.ZodRecord) return entriesOf(Object.keys(Object(value)), () => schema.valueType, value)
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((entry) => written(schema.element, entry) ?? [])
  throw new TypeError('this schema does not say how its values are written')
}

/** Writes the keys of a map that its schema knows, in the order of the schema. */
export const writtenMap = (schema: z.ZodObject, value: unknown): WrittenMap => {
  const idle = factsOf(schema).idle?.(value) ?? []
  const keys = Object.keys(schema.shape).filter((key) => !idle.includes(key))
  return entriesOf(keys, (key) => schema.shape[key], value)
}

type WrittenMap = { readonly [key: string]: Effective }

const entriesOf = (keys: readonly string[], schemaOf: (key: string) => z.core.$ZodType, of: unknown): WrittenMap =>
  Object.fromEntries(
    keys.flatMap((key) => {
      const entry = written(schemaOf(key), Object.getOwnPropertyDescriptor(of, key)?.value)
      return entry === undefined ? [] : [[key, entry]]
    }),
  )
