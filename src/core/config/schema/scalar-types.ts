import * as z from 'zod'
import { byteRates, durations, multiples, type Notation, percentages, sizes } from '../../lib/text/units.ts'
import { findRenamed } from '../renamed.ts'
import { suggestNearest } from '../suggest.ts'
import { annotate, renderPlain, type SchemaAnnotations } from './annotations.ts'
import { cannotDisable, integerKind, type Range, withinRange } from './kinds.ts'
import { scalar } from './scalar.ts'
import { InvalidScalar, patternKind, type ScalarKind } from './scalar-kind.ts'

export const hour = 3_600_000
export const day = 24 * hour
export const mebibyte = 1024 ** 2

export const upTo = (max: number) => ({ min: 1, max })

interface Quantity extends Required<Range> {
  readonly what: string
  readonly lead?: string
  readonly examples: string
}

/** `name` is the definition in the JSON Schema, which has the widest range (`Quantity`). */
const quantityKind =
  <N extends number>(
    name: string,
    { pattern, parse, format, suggest }: Notation<N>,
    { what, lead = what, examples, ...widest }: Quantity,
  ) =>
  ({ min = widest.min, max = widest.max }: Range): ScalarKind<N> => ({
    name,
    expected: `${lead} from ${format(min as N)} to ${format(max as N)}, such as ${examples}`,
    parse(value) {
      if (typeof value === 'boolean') return new InvalidScalar('wrong type')
      const text = String(value)
      const parsed = parse(text)
      if (parsed !== undefined) return withinRange(parsed, min, max, format)
      if (text === 'none') return new InvalidScalar(`not ${what}`, cannotDisable)
      const suggestion = suggest(text)
      const bare = /^\s*[\d.]+\s*$/.test(text)
      return new InvalidScalar(bare ? 'a unit is missing' : `not ${what}`, suggestion && `write ${suggestion}`)
    },
    render: format,
    json: { type: 'string', pattern },
  })

const orZero = (kind: ScalarKind<number>): ScalarKind<number> => {
  const { parse, render = renderPlain, ...rest } = orNone(kind)
  return {
    ...rest,
    parse: (value, fromVariable) => parse(value, fromVariable) ?? 0,
    render: (value) => render(value === 0 ? null : value),
  }
}

/** Accepts `none` and `false` as null: no limit. */
export const orNone = <T>({ name, render = renderPlain, ...kind }: ScalarKind<T>): ScalarKind<T | null> => ({
  ...kind,
  ...(name !== undefined && { name: `${name}OrNone` }),
  expected: `${kind.expected}; or none`,
  parse: (value, fromVariable) => {
    if (isOff(value, fromVariable)) return null
    const parsed = kind.parse(value, fromVariable)
    const isMeant = typeof value === 'string' && /^(none|off|no|never|null|unlimited|infinity)$/i.test(value)
    return parsed instanceof InvalidScalar && isMeant
      ? new InvalidScalar(parsed.message, 'write none to turn this limit off')
      : parsed
  },
  render: (value) => (value === null ? 'none' : render(value)),
  json: { anyOf: [kind.json, { enum: ['none', false] }] },
})

export const isOff = (value: unknown, fromVariable: boolean): boolean =>
  value === 'none' || value === false || (fromVariable && value === 'false')

export const parseBoolean = (value: unknown, fromVariable: boolean): boolean | undefined => {
  if (fromVariable && (value === 'true' || value === 'false')) return value === 'true'
  return typeof value === 'boolean' ? value : undefined
}

const typeOf =
  <T>(kind: (range: Range) => ScalarKind<T>) =>
  (description: string, range: Range = {}) =>
    scalar(description, kind(range))

const optional =
  <T>(kind: (range: Range) => ScalarKind<T>) =>
  (range: Range): ScalarKind<T | null> =>
    orNone(kind(range))

const durationKind = quantityKind('Duration', durations, {
  what: 'a duration',
  examples: '250ms, 2s, 1m or 1h',
  min: 1,
  max: day,
})

/** In ms, by default from 1ms to 24h. */
export const duration = typeOf(durationKind)

export const optionalDuration = typeOf(optional(durationKind))

export const durationOrZero = typeOf((range) => orZero(durationKind(range)))

const tebibyte = 1024 ** 4

const sizeKind = quantityKind('Size', sizes, { what: 'a size', examples: '512B, 64KiB or 1MiB', min: 0, max: tebibyte })

/** In bytes, by default from 0B to 1TiB. */
export const size = typeOf(sizeKind)

export const optionalSize = typeOf(optional(sizeKind))

const byteRateKind = quantityKind('ByteRate', byteRates, {
  what: 'a rate',
  lead: 'bytes a second',
  examples: '240B/s or 1KiB/s',
  min: 1,
  max: tebibyte,
})

export const optionalByteRate = typeOf(optional(byteRateKind))

const percentKind = quantityKind('Percent', percentages, { what: 'a percentage', examples: '10%', min: 0, max: 1 })

/** Parsed to a fraction, by default from 0% to 100%. The range is in fractions. */
export const percent = typeOf(percentKind)

export const optionalPercent = typeOf(optional(percentKind))

export const multiple = typeOf(
  quantityKind('Multiple', multiples, {
    what: 'a multiple',
    lead: 'how many times,',
    examples: '2x',
    min: 1,
    max: 100,
  }),
)

export const integer = (description: string, range: Required<Range>) => scalar(description, integerKind(range))

export const optionalInteger = (description: string, range: Required<Range>) =>
  scalar(description, orNone(integerKind(range)))

export const boolean = (description: string) =>
  scalar<boolean>(description, {
    name: 'Boolean',
    expected: 'true or false',
    parse: (value, fromVariable) => {
      const parsed = parseBoolean(value, fromVariable)
      if (parsed !== undefined) return parsed
      if (typeof value !== 'string') return new InvalidScalar('wrong type')
      const meant = { true: 'true', yes: 'true', on: 'true', false: 'false', no: 'false', off: 'false' }
      const word = Object.entries(meant).find(([name]) => name === value.toLowerCase())?.[1]
      return new InvalidScalar('not a boolean', word && `write ${word}, without quotes`)
    },
    json: { type: 'boolean' },
  })

export const choice = <const W extends string>(description: string, words: readonly W[]) =>
  scalar<W>(description, {
    expected: `one of ${words.join(', ')}`,
    parse: (value) => words.find((word) => word === value) ?? unknownWord(value, words),
    json: { type: 'string', enum: words },
  })

export const forbiddenKey = (message: string, hint: string) =>
  scalar<never>(message, {
    expected: 'no such key here',
    parse: () => new InvalidScalar(message, hint),
    render: () => undefined,
    json: { not: {} },
    forbidden: true,
  })

const unknownWord = (value: unknown, words: readonly string[]): InvalidScalar => {
  const renamed = findRenamed(String(value), words)
  return renamed === undefined
    ? new InvalidScalar('unknown value', suggestWord(value, words))
    : new InvalidScalar(`this value is now named ${renamed}`, `write ${renamed}`)
}

const suggestWord = (value: unknown, words: readonly string[]): string | undefined => {
  const text = String(value).trim()
  if (words.includes(text.toLowerCase())) return `write ${text.toLowerCase()}`
  const near = suggestNearest(text, words)
  return near && `did you mean ${near}?`
}

export const clientName = (description: string) =>
  scalar(description, patternKind('1 to 64 letters, digits and -_.', '^[0-9A-Za-z_.-]{1,64}$', 'not a name'))

export const list = <S extends z.ZodType>(
  description: string,
  entry: S,
  { min, max, ...annotations }: Range & SchemaAnnotations = {},
) => {
  let entries = z.array(entry)
  if (min !== undefined) entries = entries.min(min)
  if (max !== undefined) entries = entries.max(max)
  return annotate(entries.meta({ description }), annotations)
}

export const map = <S extends z.core.$ZodLooseShape>(
  description: string,
  shape: S,
  annotations: SchemaAnnotations = {},
) => annotate(z.strictObject(shape).meta({ description }), annotations)

export const keySchema = ({ expected, parse }: Pick<ScalarKind<string>, 'expected' | 'parse'>) =>
  z.string().check((context) => {
    if (context.value.includes('${'))
      return reject(context, 'a placeholder in a key', expected, 'placeholders stand in values, never in keys')
    const parsed = parse(context.value, false)
    if (parsed instanceof InvalidScalar) reject(context, parsed.message, expected, parsed.hint)
  })

export const reject = (
  context: z.core.ParsePayload,
  message: string,
  expected: string,
  hint?: string,
  path: (string | number)[] = [],
): void => {
  context.issues.push({ code: 'custom', message, params: { expected, hint }, path, input: context.value })
}
