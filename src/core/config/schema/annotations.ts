import * as z from 'zod'

export interface SchemaAnnotations {
  /** Renders a value as the file spells it; undefined: the key is not rendered. */
  render?(value: unknown): RenderedValue | undefined
  /** Keys of a map that are not rendered, because they say nothing beside the other keys. */
  redundantKeys?(value: unknown): readonly string[]
  /** Shown as `***`, compared by its hash, never quoted in a problem. */
  readonly secret?: true
  /** Operators may put a secret here by mistake, so problems do not quote the value. */
  readonly sensitive?: boolean
  /** Allows `file:PATH`; the file has one line or several. */
  readonly file?: 'line' | 'lines'
  /** Every value is rejected: the key belongs elsewhere, or was removed. */
  readonly forbidden?: true
  readonly restart?: true
}

const annotations = new WeakMap<z.core.$ZodType, SchemaAnnotations>()

export const getAnnotations = (schema: z.core.$ZodType): SchemaAnnotations => {
  const { parent } = schema._zod
  return { ...(parent && getAnnotations(parent)), ...annotations.get(schema) }
}

export const annotate = <S extends z.core.$ZodType>(schema: S, additions: SchemaAnnotations): S => {
  annotations.set(schema, { ...annotations.get(schema), ...additions })
  return schema
}

export const optionalKey = <S extends z.ZodType>(schema: S) => schema.optional().transform((value) => value ?? null)

export const isOptionalKey = (schema: z.core.$ZodType): schema is z.ZodPipe<z.ZodOptional> =>
  schema instanceof z.ZodPipe && schema.in instanceof z.ZodOptional

export class Secret {
  // Private, so that no inspection prints the secret.
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toJSON(): string {
    return '***'
  }
}

export type RenderedValue =
  | string
  | number
  | boolean
  | Secret
  | readonly RenderedValue[]
  | { readonly [key: string]: RenderedValue }

export const escapePlaceholders = (value: string): string => value.replaceAll('${', () => '$${')

export const renderPlain = (value: unknown): RenderedValue => {
  if (value === null) return 'none'
  if (typeof value === 'string') return escapePlaceholders(value)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  throw new TypeError('a kind needs `render` unless its values are strings, numbers or booleans')
}

export const renderValue = (schema: z.core.$ZodType, value: unknown): RenderedValue | undefined => {
  if (value === undefined) return undefined
  const { render, secret } = getAnnotations(schema)
  if (secret && typeof value === 'string') return new Secret(value)
  if (render !== undefined) return render(value)
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return renderValue(schema.unwrap(), value)
  if (schema instanceof z.ZodPipe)
    return isOptionalKey(schema) && value === null ? undefined : renderValue(schema.in, value)
  // Null stands for a word in place of a policy: `none`, `all`.
  if (schema instanceof z.ZodUnion) {
    const branch = schema.options.at(value === null ? 0 : -1)
    return branch && renderValue(branch, value)
  }
  if (schema instanceof z.ZodObject) return renderMap(schema, value)
  if (schema instanceof z.ZodRecord) return renderEntries(Object.keys(Object(value)), () => schema.valueType, value)
  if (schema instanceof z.ZodArray && Array.isArray(value))
    return value.map((entry) => renderValue(schema.element, entry) ?? [])
  throw new TypeError('this schema has no `render`')
}

type RenderedMap = { readonly [key: string]: RenderedValue }

export const renderMap = (schema: z.ZodObject, value: unknown): RenderedMap => {
  const redundantKeys = getAnnotations(schema).redundantKeys?.(value) ?? []
  const keys = Object.keys(schema.shape).filter((key) => !redundantKeys.includes(key))
  return renderEntries(keys, (key) => schema.shape[key], value)
}

const renderEntries = (
  keys: readonly string[],
  schemaOf: (key: string) => z.core.$ZodType,
  map: unknown,
): RenderedMap =>
  Object.fromEntries(
    keys.flatMap((key) => {
      const entry = renderValue(schemaOf(key), Object.getOwnPropertyDescriptor(map, key)?.value)
      return entry === undefined ? [] : [[key, entry]]
    }),
  )
