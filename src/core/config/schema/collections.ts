import * as z from 'zod'
import { InvalidScalar, type ScalarKind } from './scalar.ts'
import type { Range } from './scalar-kinds.ts'

/** `range` is for the number of its entries. */
export const list = <S extends z.ZodType>(description: string, entry: S, { min, max }: Range = {}) => {
  let entries = z.array(entry)
  if (min !== undefined) entries = entries.min(min)
  if (max !== undefined) entries = entries.max(max)
  return entries.meta({ description })
}

/** The schema of the keys of a map of which any may be stated: texts of one kind. */
export const keySchema = ({ expected, parse }: Pick<ScalarKind<string>, 'expected' | 'parse'>) =>
  z.string().check((context) => {
    if (context.value.includes('${'))
      return reject(context, 'a placeholder in a key', expected, 'placeholders stand in values, never in keys')
    const parsed = parse(context.value, false)
    if (parsed instanceof InvalidScalar) reject(context, parsed.message, expected, parsed.hint)
  })

/** `path` leads from the value to what is wrong in it. */
export const reject = (
  context: z.core.ParsePayload,
  message: string,
  expected: string,
  hint?: string,
  path: (string | number)[] = [],
): void => {
  context.issues.push({ code: 'custom', message, params: { expected, hint }, path, input: context.value })
}
