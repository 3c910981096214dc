import { formatRate, parseRate, type Rate, ratePattern } from '../../lib/text/units.ts'
import { suggestNearest } from '../suggest.ts'
import { annotate } from './annotations.ts'
import { InvalidScalar, patternKind, scalar } from './scalar.ts'
import {
  byteRateKind,
  durationKind,
  integerKind,
  multipleKind,
  orNone,
  orZero,
  percentKind,
  type Range,
  sizeKind,
} from './scalar-kinds.ts'

/** The schema of a duration in milliseconds: from 1ms to 24h unless `range` says otherwise. */
export const duration = (description: string, range: Range = {}) => scalar(durationKind(range), description)

export const optionalDuration = (description: string, range: Range = {}) =>
  scalar(orNone(durationKind(range)), description)

/** The schema of a duration, or of `none`/`false` for 0, which allows nothing either. */
export const durationOrZero = (description: string, range: Range = {}) =>
  scalar(orZero(durationKind(range)), description)

/** The schema of a size in bytes: from 0B to 1TiB unless `range` says otherwise. */
export const size = (description: string, range: Range = {}) => scalar(sizeKind(range), description)

export const optionalSize = (description: string, range: Range = {}) => scalar(orNone(sizeKind(range)), description)

export const optionalByteRate = (description: string, range: Range = {}) =>
  scalar(orNone(byteRateKind(range)), description)

/** The schema of a percentage, parsed to a fraction: from 0% to 100% unless `range`, also in fractions, differs. */
export const percent = (description: string, range: Range = {}) => scalar(percentKind(range), description)

export const optionalPercent = (description: string, range: Range = {}) =>
  scalar(orNone(percentKind(range)), description)

/** The schema of a factor: from 1x to 100x unless `range` says otherwise. */
export const multiple = (description: string, range: Range = {}) => scalar(multipleKind(range), description)

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

/** The schema of a key that exists elsewhere but not here: it rejects every value, and says why. */
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

const maxRate = 1_000_000

/** The schema of a number of requests a second or a minute. */
export const requestRate = (description: string) =>
  scalar<Rate>(
    {
      expected: `a rate from 1/min to ${maxRate}/s, such as 100/s or 30/min`,
      parse: (value) => {
        if (typeof value === 'boolean') return new InvalidScalar('wrong type')
        const text = String(value)
        const parsed = parseRate(text)
        if (parsed === undefined) return new InvalidScalar('not a rate', rateHint(text))
        if (parsed.count < 1) return new InvalidScalar('too small', 'write at least 1/min')
        return parsed.count > maxRate ? new InvalidScalar('too large', `write at most ${maxRate}/s`) : parsed
      },
      render: formatRate,
      json: { type: 'string', pattern: ratePattern },
    },
    description,
  )

/** Guesses the rate that was meant by `100`, `100/sec`, `100 rps` or `5 / minute`. */
const rateHint = (text: string): string | undefined => {
  const [, count, unit = ''] = /^\s*(\d+)\s*(?:\/|per\b|r\/)?\s*([a-z]*)\s*$/i.exec(text) ?? []
  if (count === undefined) return undefined
  if (/^(|s|secs?|seconds?|rps)$/i.test(unit)) return `write ${formatRate({ count: Number(count), perMs: 1000 })}`
  return /^(m|mins?|minutes?|rpm)$/i.test(unit)
    ? `write ${formatRate({ count: Number(count), perMs: 60_000 })}`
    : undefined
}

export const clientName = (description: string) =>
  scalar(patternKind('1 to 64 letters, digits and -_.', '^[0-9A-Za-z_.-]{1,64}$', 'not a name'), description)
