import * as z from 'zod'
import { isPlain, readerOf, Wrong } from './scalar.ts'

/** Stands for "something is wrong, or not plain": zod has the word. */
export const unsure: unique symbol = Symbol('unsure')

type Quick = (value: unknown) => unknown

/**
 * Compiles a schema into a function that reads what is right many times as fast as zod, for lists of thousands, and is unsure of all else: zod
 * then says what is wrong. It is made from the very same schema, so that there is no second set of rules; what it does not know in it is left to
 * zod as well.
 */
export const quick = <T>(schema: z.ZodType<T>): ((value: unknown) => T | typeof unsure) =>
  // The type of what it makes is the schema's own: a property test compares the two.
  compile(schema) as (value: unknown) => T | typeof unsure

const compile = (schema: z.core.$ZodType): Quick => {
  const read = readerOf(schema)
  if (read !== undefined) {
    return (value) => {
      if (!isPlain(value)) return unsure
      const got = read(value, false)
      return got instanceof Wrong ? unsure : got
    }
  }
  if (schema instanceof z.ZodPrefault) {
    const inner = compile(schema.unwrap())
    const { defaultValue } = schema.def
    return (value) => inner(value === undefined ? defaultValue : value)
  }
  if (schema instanceof z.ZodOptional) {
    const inner = compile(schema.unwrap())
    return (value) => (value === undefined ? undefined : inner(value))
  }
  if (schema instanceof z.ZodUnion) return firstOf(schema.options.map(compile))
  if (schema instanceof z.ZodRecord && (schema.def.checks ?? []).length === 0) return record(schema)
  if (schema instanceof z.ZodArray) return list(schema) ?? byZod(schema)
  return schema instanceof z.ZodObject && isStrict(schema) ? map(schema) : byZod(schema)
}

const byZod =
  (schema: z.core.$ZodType): Quick =>
  (value) => {
    const got = z.safeParse(schema, value)
    return got.success ? got.data : unsure
  }

const firstOf =
  (options: readonly Quick[]): Quick =>
  (value) => {
    for (const option of options) {
      const got = option(value)
      if (got !== unsure) return got
    }
    return unsure
  }

/** Null: it has a check that is not known here. */
const list = (schema: z.ZodArray<z.core.$ZodType>): Quick | null => {
  const checks = (schema.def.checks ?? []).map((check) => check._zod.def)
  let [least, most] = [0, Number.POSITIVE_INFINITY]
  for (const check of checks) {
    if ('minimum' in check && check.check === 'min_length') least = Number(check.minimum)
    else if ('maximum' in check && check.check === 'max_length') most = Number(check.maximum)
    else return null
  }
  const entry = compile(schema.element)
  return (value) => {
    if (!Array.isArray(value) || value.length < least || value.length > most) return unsure
    const made: unknown[] = []
    for (const each of value) {
      const got = entry(each)
      if (got === unsure) return unsure
      made.push(got)
    }
    return made
  }
}

/** Names are few, and checked once each. */
const record = ({ keyType, valueType }: z.ZodRecord): Quick => {
  const names = new Set<string>()
  const isName = (key: string): boolean => {
    if (names.has(key)) return true
    const isGood = z.safeParse(keyType, key).data === key
    if (isGood && names.size < maxNames) names.add(key)
    return isGood
  }
  const entry = compile(valueType)
  return (value) => {
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return unsure
    const made: Record<string, unknown> = {}
    for (const [key, each] of Object.entries(value)) {
      const got = isName(key) && key !== '__proto__' ? entry(each) : unsure
      if (got === unsure) return unsure
      made[key] = got
    }
    return made
  }
}

const maxNames = 100

const isStrict = ({ def }: z.ZodObject): boolean =>
  def.catchall instanceof z.ZodNever && (def.checks ?? []).length === 0

const map = ({ shape }: z.ZodObject): Quick => {
  const entries = Object.entries<z.core.$ZodType>(shape).map(([key, part]) => [key, compile(part)] as const)
  return (value) => {
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return unsure
    const made: Record<string, unknown> = {}
    let known = 0
    for (const [key, read] of entries) {
      const isThere = Object.hasOwn(value, key)
      const got = read(isThere ? (value as Readonly<Record<string, unknown>>)[key] : undefined)
      if (got === unsure) return unsure
      if (isThere) known++
      if (isThere || got !== undefined) made[key] = got
    }
    return Object.keys(value).length === known ? made : unsure
  }
}
