import * as z from 'zod'
import type { RenderedValue } from '../redact.ts'

/** The facts of a key that zod does not know: how its values are rendered, and whether they are secret. */
export interface SchemaAnnotations {
  /**
   * Renders a value as the file spells it; undefined: its key is left out. A method, so that each kind may take its own
   * type.
   */
  render?(value: unknown): RenderedValue | undefined
  /** Lists the keys of a map that add nothing to the others: they are not rendered. */
  redundantKeys?(value: unknown): readonly string[]
  /** Marks a secret: shown as `***`, compared by its hash, never quoted in a problem. */
  readonly secret?: true
  /** Marks a place where a secret may stand by mistake: never quoted in a problem. */
  readonly sensitive?: boolean
  /** Allows `file:PATH`, for a file of one line or of several. */
  readonly file?: 'line' | 'lines'
  /** Marks a key that every value is rejected of: it exists elsewhere, or existed once. */
  readonly forbidden?: true
  readonly restart?: true
}

const annotations = new WeakMap<z.core.$ZodType, SchemaAnnotations>()

/** Returns the annotations of a schema; a copy that zod makes of it has the same. */
export const getAnnotations = (schema: z.core.$ZodType): SchemaAnnotations => {
  const { parent } = schema._zod
  return { ...(parent && getAnnotations(parent)), ...annotations.get(schema) }
}

export const annotate = <S extends z.core.$ZodType>(schema: S, additions: SchemaAnnotations): S => {
  annotations.set(schema, { ...annotations.get(schema), ...additions })
  return schema
}

/** Makes a key optional; its value is null when the key is left out. */
export const optionalKey = <S extends z.ZodType>(schema: S) => schema.optional().transform((value) => value ?? null)

export const isOptionalKey = (schema: z.core.$ZodType): schema is z.ZodPipe<z.ZodOptional> =>
  schema instanceof z.ZodPipe && schema.in instanceof z.ZodOptional
