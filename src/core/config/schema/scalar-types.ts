import * as z from 'zod'
import { byteRates, durations, multiples, percentages, sizes } from '../../lib/text/units.ts'
import { suggestNearest } from '../suggest.ts'
import { annotate } from './annotations.ts'
import { InvalidScalar, patternKind, type ScalarKind, scalar } from './scalar.ts'
import { day, integerKind, orNone, orZero, quantityKind, type Range } from './scalar-kinds.ts'

const typeOf =
  <T>(kind: (range: Range) => ScalarKind<T>) =>
  (description: string, range: Range = {}) =>
    scalar(kind(range), description)

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

/** In ms: from 1ms to 24h unless a range says otherwise. */
export const duration = typeOf(durationKind)

export const optionalDuration = typeOf(optional(durationKind))

/** `none` and `false` are 0, which allows nothing either. */
export const durationOrZero = typeOf((range) => orZero(durationKind(range)))

const tebibyte = 1024 ** 4

const sizeKind = quantityKind('Size', sizes, { what: 'a size', examples: '512B, 64KiB or 1MiB', min: 0, max: tebibyte })

/** In bytes: from 0B to 1TiB unless a range says otherwise. */
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

/** Parsed to a fraction: from 0% to 100% unless a range, in fractions, says otherwise. */
export const percent = typeOf(percentKind)

export const optionalPercent = typeOf(optional(percentKind))

/** From 1x to 100x unless a range says otherwise. */
export const multiple = typeOf(
  quantityKind('Multiple', multiples, {
    what: 'a multiple',
    lead: 'how many times,',
    examples: '2x',
    min: 1,
    max: 100,
  }),
)

export const integer = (description: string, range: Required<Range>) => scalar(integerKind(range), description)

export const optionalInteger = (description: string, range: Required<Range>) =>
  scalar(orNone(integerKind(range)), description)

export const boolean = (description: string) =>
  scalar<boolean>(
    {
      name: 'Boolean',
      expected: 'true or false',
      parse: (value, fromVariable) => {
        if (typeof value === 'boolean') return value
        if (fromVariable && (value === 'true' || value === 'false')) return value === 'true'
        if (typeof value !== 'string') return new InvalidScalar('wrong type')
        const meant = { true: 'true', yes: 'true', on: 'true', false: 'false', no: 'false', off: 'false' }
        const word = Object.entries(meant).find(([name]) => name === value.toLowerCase())?.[1]
        return new InvalidScalar('not a boolean', word && `write ${word}, without quotes`)
      },
      json: { type: 'boolean' },
    },
    description,
  )

export const choice = <const W extends string>(description: string, words: readonly W[]) =>
  scalar<W>(
    {
      expected: `one of ${words.join(', ')}`,
      parse: (value) =>
        words.find((word) => word === value) ?? new InvalidScalar('unknown value', suggestWord(value, words)),
      json: { type: 'string', enum: words },
    },
    description,
  )

/** For a key that exists elsewhere: rejects every value, and says why. */
export const forbiddenKey = (message: string, hint: string) =>
  annotate(
    scalar<never>(
      {
        expected: 'no such key here',
        parse: () => new InvalidScalar(message, hint),
        render: () => undefined,
        json: { not: {} },
      },
      message,
    ),
    { forbidden: true },
  )

const suggestWord = (value: unknown, words: readonly string[]): string | undefined => {
  const text = String(value).trim()
  if (words.includes(text.toLowerCase())) return `write ${text.toLowerCase()}`
  const near = suggestNearest(text, words)
  return near && `did you mean ${near}?`
}

export const clientName = (description: string) =>
  scalar(patternKind('1 to 64 letters, digits and -_.', '^[0-9A-Za-z_.-]{1,64}$', 'not a name'), description)

export const list = <S extends z.ZodType>(description: string, entry: S, { min, max }: Range = {}) => {
  let entries = z.array(entry)
  if (min !== undefined) entries = entries.min(min)
  if (max !== undefined) entries = entries.max(max)
  return entries.meta({ description })
}

export const keySchema = ({ expected, parse }: Pick<ScalarKind<string>, 'expected' | 'parse'>) =>
  z.string().check((context) => {
    if (context.value.includes('${'))
      return reject(context, 'a placeholder in a key', expected, 'placeholders stand in values, never in keys')
    const parsed = parse(context.value, false)
    if (parsed instanceof InvalidScalar) reject(context, parsed.message, expected, parsed.hint)
  })

/** `path` leads from the value to the fault in it. */
export const reject = (
  context: z.core.ParsePayload,
  message: string,
  expected: string,
  hint?: string,
  path: (string | number)[] = [],
): void => {
  context.issues.push({ code: 'custom', message, params: { expected, hint }, path, input: context.value })
}
