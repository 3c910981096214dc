import * as z from 'zod'
import { escapePlaceholders, type RenderedValue, Secret } from '../redact.ts'
import { getAnnotations, isOptionalKey } from './annotations.ts'

/** Renders text, numbers and booleans as they are, and null as `none`. */
export const renderPlain = (value: unknown): RenderedValue => {
  if (value === null) return 'none'
  if (typeof value === 'string') return escapePlaceholders(value)
  if (typeof value === 'number' || typeof value === 'boolean') return value
  throw new TypeError('a kind whose values are no plain ones says how they are written')
}

/** Renders a value in the shape and the spelling of the file, as its schema says; undefined: its key is left out. */
export const renderValue = (schema: z.core.$ZodType, value: unknown): RenderedValue | undefined => {
  if (value === undefined) return undefined
  const { render, secret } = getAnnotations(schema)
  if (secret && typeof value === 'string') return new Secret(value)
  if (render !== undefined) return render(value)
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return renderValue(schema.unwrap(), value)
  if (schema instanceof z.ZodPipe)
    return isOptionalKey(schema) && value === null ? undefined : renderValue(schema.in, value)
  // Null stands for the word in place of a policy: `none`, `all`.
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
