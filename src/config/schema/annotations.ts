import * as z from 'zod'
import { escapePlaceholders, type RenderedValue, Secret } from '../redact.ts'

/** What a schema does not say by itself: how its values are written back, and what a key is to those who walk over the file. */
export interface SchemaAnnotations {
  /** Writes a value as the file spells it; undefined: its key is left out. A method, so that each kind may take its own type. */
  render?(value: unknown): RenderedValue | undefined
  /** Lists the keys of a map that say nothing beside what the others say: they are not written. */
  redundantKeys?(value: unknown): readonly string[]
  /** A secret: shown as `***`, compared by its hash, never quoted in a problem. */
  readonly secret?: true
  /** No secret, but one may stand here in a wrong place: never quoted in a problem. */
  readonly sensitive?: boolean
  /** Where `file:PATH` may stand, and whether what the file holds is one line. */
  readonly file?: 'line' | 'lines'
  /** What a running gateway cannot change. */
  readonly restart?: true
}

const annotations = new WeakMap<z.core.$ZodType, SchemaAnnotations>()

/** Tells the facts of a schema; a copy that zod makes of one has the same. */
export const getAnnotations = (schema: z.core.$ZodType): SchemaAnnotations => {
  const { parent } = schema._zod
  return { ...(parent && getAnnotations(parent)), ...annotations.get(schema) }
}

/** Adds facts to a schema. */
export const annotate = <S extends z.core.$ZodType>(schema: S, additions: SchemaAnnotations): S => {
  annotations.set(schema, { ...annotations.get(schema), ...additions })
  return schema
}

/** Lets a key be left out: null then. */
export const optionalKey = <S extends z.ZodType>(schema: S) => schema.optional().transform((value) => value ?? null)

/** Tells whether a schema was made by {@link optionalKey}. */
export const isOptionalKey = (schema: z.core.$ZodType): schema is z.ZodPipe<z.ZodOptional> =>
  schema instanceof z.ZodPipe && schema.in instanceof z.ZodOptional

/** Writes text, numbers and booleans as they are, and null as `none`. */
export const renderPlain = (value: unknown): RenderedValue => {
  if (value === null) return 'none'
  if (typeof value === 'string') return escapePlaceholders(value)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  throw new TypeError('a kind whose values are no plain ones says how they are written')
}

/** Writes a value in the shape and the spelling of the file, as its schema says; undefined: its key is left out. */
export const renderValue = (schema: z.core.$ZodType, value: unknown): RenderedValue | undefined => {
  if (value === undefined) return undefined
  const { render, secret } = getAnnotations(schema)
  if (secret && typeof value === 'string') return new Secret(value)
  if (render !== undefined) return render(value)
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return renderValue(schema.unwrap(), value)
  if (schema instanceof z.ZodPipe)
    return isOptionalKey(schema) && value === null ? undefined : renderValue(schema.in, value)
  // Null is what the word in place of a policy stands for: `none`, `all`.
  if (schema instanceof z.ZodUnion) {
    const branch = schema.options.at(value === null ? 0 : -1)
    return branch && renderValue(branch, value)
  }
  if (schema instanceof z.ZodObject) return renderMap(schema, value)
  if (schema instanceof z.ZodRecord) return renderEntries(Object.keys(Object(value)), () => schema.valueType, value)
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((entry) => renderValue(schema.element, entry) ?? [])
  throw new TypeError('this schema does not say how its values are written')
}

/** Writes the keys of a map that its schema knows, in the order of the schema. */
export const renderMap = (schema: z.ZodObject, value: unknown): RenderedMap => {
  const redundantKeys = getAnnotations(schema).redundantKeys?.(value) ?? []
  const keys = Object.keys(schema.shape).filter((key) => !redundantKeys.includes(key))
  return renderEntries(keys, (key) => schema.shape[key], value)
}

type RenderedMap = { readonly [key: string]: RenderedValue }

const renderEntries = (keys: readonly string[], schemaOf: (key: string) => z.core.$ZodType, of: unknown): RenderedMap =>
  Object.fromEntries(
    keys.flatMap((key) => {
      const entry = renderValue(schemaOf(key), Object.getOwnPropertyDescriptor(of, key)?.value)
      return entry === undefined ? [] : [[key, entry]]
    }),
  )
