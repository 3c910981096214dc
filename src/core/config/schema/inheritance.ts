import * as z from 'zod'
import { isPlainObject } from '../../lib/plain-object.ts'
import { annotate, getAnnotations, isOptionalKey } from './annotations.ts'
import { scalar } from './scalar.ts'
import { InvalidScalar } from './scalar-kind.ts'
import { isOff, parseBoolean } from './scalar-types.ts'

export type PartialLevel<T> = T extends string | number | boolean | readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: PartialLevel<T[K]> | undefined }
    : T

type PartialShape<S extends z.core.$ZodShape> = {
  readonly [K in keyof S]: z.ZodOptional<z.ZodType<PartialLevel<z.output<S[K]>>>>
}

export const partialShape = <S extends z.core.$ZodShape>(shape: S): PartialShape<S> =>
  Object.fromEntries(
    Object.entries(shape).map(([key, schema]) => [key, z.optional(withoutDefaults(schema))]),
  ) as PartialShape<S>

/** Removes defaults from a level: they would count as stated there, and hide the levels below. */
function withoutDefaults(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return withoutDefaults(schema.unwrap())
  if (isOptionalKey(schema)) return withoutDefaults(schema.in)
  if (schema instanceof z.ZodObject) return copyAnnotations(z.strictObject(partialShape(schema.shape)), schema)
  if (schema instanceof z.ZodUnion) return copyAnnotations(z.union(schema.options.map(withoutDefaults)), schema)
  return schema
}

const copyAnnotations = <S extends z.ZodType>(schema: S, other: z.ZodType): S =>
  annotate(schema.meta(other.meta() ?? {}), getAnnotations(other))

export const optionalPolicy = <T extends z.ZodType>(policy: T, example: string) => {
  const off = scalar<null>('Turned off', {
    expected: `none, or a map such as ${example}`,
    parse: (value, fromVariable) => {
      if (isOff(value, fromVariable)) return null
      const isMeant = typeof value === 'string' && /^(off|no|never|null|disabled?)$/i.test(value)
      return new InvalidScalar('not a policy', `write ${isMeant ? 'none' : `${example}, or none`} to turn it off`)
    },
    json: { enum: ['none', false] },
  })
  return z.union([off, policy]).meta({ description: policy.description ?? '' })
}

/** `true` in place of an operation's policy: its defaults; `false`: no policy. */
export const policySwitch = (description: string, form: string, example: string) =>
  scalar<boolean>(description, {
    expected: `true, false or ${form}`,
    parse: (value, fromVariable) => {
      const mistake = new InvalidScalar('neither true nor false', `write true for the defaults, or ${example}`)
      return parseBoolean(value, fromVariable) ?? mistake
    },
    render: () => false, // an operation with `true` has a policy, so only null is rendered here
    json: { type: 'boolean' },
  })

export const resolvePolicy = <S extends z.ZodObject>(
  stated: PartialLevel<z.output<S>> | null | undefined,
  inherited: z.output<S> | null,
  schema: S,
): z.output<S> | null =>
  stated === null ? null : mergeLevels(stated, stated === undefined ? inherited : (inherited ?? schema.parse({})))

export function mergeLevels<T>(stated: PartialLevel<T> | undefined, inherited: T): T {
  if (stated === undefined) return inherited
  if (!isPlainObject(stated) || !isPlainObject(inherited)) return stated as T
  const keys = [...new Set([...Object.keys(inherited), ...Object.keys(stated)])]
  return Object.fromEntries(keys.map((key) => [key, mergeLevels(stated[key], inherited[key])])) as T
}
