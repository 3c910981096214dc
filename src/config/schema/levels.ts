import * as z from 'zod'
import { factsOf, isOptional, mark } from './facts.ts'
import { scalar, Wrong } from './scalar.ts'

/** Is what one level of the file says of a value: any part of it may be left to the level below. */
export type Stated<T> = T extends string | number | boolean | readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Stated<T[K]> | undefined }
    : T

type StatedShape<S extends z.core.$ZodShape> = {
  readonly [K in keyof S]: z.ZodOptional<z.ZodType<Stated<z.output<S[K]>>>>
}

/** Makes the shape of a level above: the same keys down to the last, none of them with a value of its own. */
export const statedShape = <S extends z.core.$ZodShape>(shape: S): StatedShape<S> =>
  // Object.fromEntries forgets which keys there are.
  Object.fromEntries(Object.entries(shape).map(([key, schema]) => [key, z.optional(bare(schema))])) as StatedShape<S>

/** Takes what is built in out of a schema, at every depth: else a level would state what it leaves out. */
function bare(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return bare(schema.unwrap())
  if (isOptional(schema)) return bare(schema.in)
  if (schema instanceof z.ZodObject) return alike(z.strictObject(statedShape(schema.shape)), schema)
  if (schema instanceof z.ZodUnion) return alike(z.union(schema.options.map(bare)), schema)
  return schema
}

/** Gives a schema the description and the facts of another one. */
const alike = <S extends z.ZodType>(schema: S, other: z.ZodType): S =>
  mark(schema.meta(other.meta() ?? {}), factsOf(other))

/** Reads a policy, or `none`/`false` for null: it is off. `example` is what to write to have it on. */
export const orOff = <T extends z.ZodType>(policy: T, example: string) => {
  const off = scalar<null>(
    {
      expected: 'none',
      read: (value, whole) => {
        if (value === 'none' || value === false || (whole && value === 'false')) return null
        const isOff = typeof value === 'string' && /^(off|no|never|null|disabled?)$/i.test(value)
        return new Wrong(
          'not a policy',
          isOff ? 'write none to turn it off' : `write ${example}, or none to turn it off`,
        )
      },
      json: { enum: ['none', false] },
    },
    'Turned off',
  )
  return z.union([off, policy]).meta({ description: policy.description ?? '' })
}

/** Fills in what a level leaves out from the one below, key by key. What is no map is one value: `none` wins, and so does a list. */
export function merge<T>(stated: Stated<T> | undefined, below: T): T {
  if (stated === undefined) return below
  if (!isMap(stated) || !isMap(below)) return stated as T
  const keys = [...new Set([...Object.keys(below), ...Object.keys(stated)])]
  return Object.fromEntries(keys.map((key) => [key, merge(stated[key], below[key])])) as T
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
