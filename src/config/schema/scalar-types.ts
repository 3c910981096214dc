import {
  type Bytes,
  type BytesPerSecond,
  byteRatePattern,
  durationPattern,
  type Fraction,
  formatByteRate,
  formatDuration,
  formatPercent,
  formatRate,
  formatSize,
  type Milliseconds,
  parseByteRate,
  parseDuration,
  parsePercent,
  parseRate,
  parseSize,
  percentPattern,
  type Rate,
  ratePattern,
  sizePattern,
  suggestByteRate,
  suggestDuration,
  suggestPercent,
  suggestSize,
} from '../../units.ts'
import { renderPlain } from './render.ts'
import { InvalidScalar, type ScalarKind, scalar } from './scalar.ts'

const day = 24 * 3_600_000
const tebibyte = 1024 ** 4

interface Range {
  readonly min?: number
  readonly max?: number
}

/** The schema of a duration in milliseconds: from 1ms to 24h unless `range` says otherwise. */
export const duration = (description: string, range: Range = {}) => scalar(durationKind(range), description)

/** The schema of a duration, or of `none`/`false` for null: no limit. */
export const optionalDuration = (description: string, range: Range = {}) =>
  scalar(orNone(durationKind(range)), description)

/** The schema of a duration, or of `none`/`false` for 0, which allows nothing either. */
export const durationOrZero = (description: string, range: Range = {}) =>
  scalar(orZero(durationKind(range)), description)

/** The schema of a size in bytes: from 0B to 1TiB unless `range` says otherwise. */
export const size = (description: string, range: Range = {}) => scalar(sizeKind(range), description)

/** The schema of a size, or of `none`/`false` for null: no limit. */
export const optionalSize = (description: string, range: Range = {}) => scalar(orNone(sizeKind(range)), description)

/** The schema of bytes a second, or of `none`/`false` for null: no limit. */
export const optionalByteRate = (description: string, range: Range = {}) =>
  scalar(orNone(byteRateKind(range)), description)

/** The schema of a percentage, parsed to a fraction: from 0% to 100% unless `range`, also in fractions, differs. */
export const percent = (description: string, range: Range = {}) => scalar(percentKind(range), description)

/** The schema of a percentage, or of `none`/`false` for null: no limit. */
export const optionalPercent = (description: string, range: Range = {}) =>
  scalar(orNone(percentKind(range)), description)

/** The schema of a whole number within `range`. */
export const integer = (description: string, range: Required<Range>) => scalar(integerKind(range), description)

/** The schema of a whole number, or of `none`/`false` for null: no limit. */
export const optionalInteger = (description: string, range: Required<Range>) =>
  scalar(orNone(integerKind(range)), description)

/** The schema of `true` or `false`. */
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

/** The schema of one of a few words. */
export const choice = <const W extends string>(description: string, words: readonly W[]) =>
  scalar<W>(
    {
      expected: `one of ${words.join(', ')}`,
      parse: (value) =>
        words.find((word) => word === value) ?? new InvalidScalar('unknown value', sameButCase(value, words)),
      json: { type: 'string', enum: words },
    },
    description,
  )

/** The schema of a key that exists elsewhere but not here: it rejects every value, and says why. */
export const forbiddenKey = (message: string, hint: string) =>
  scalar<never>(
    {
      expected: 'no such key here',
      parse: () => new InvalidScalar(message, hint),
      render: () => undefined,
      json: { not: {} },
    },
    message,
  )

const sameButCase = (value: unknown, words: readonly string[]): string | undefined => {
  const word = words.find((known) => known === String(value).trim().toLowerCase())
  return word && `write ${word}`
}

/** The hint for `none` where {@link orNone} does not apply. */
const cannotDisable = 'this bound cannot be turned off: write a larger one, or leave the key out'

const durationKind = ({ min = 1, max = day }: Range): ScalarKind<Milliseconds> => ({
  name: 'Duration',
  expected: `a duration from ${formatDuration(min)} to ${formatDuration(max)}, such as 250ms, 2s, 1m or 1h`,
  parse: quantityParser('a duration', parseDuration, suggestDuration, formatDuration, min, max),
  render: formatDuration,
  json: { type: 'string', pattern: durationPattern },
})

const sizeKind = ({ min = 0, max = tebibyte }: Range): ScalarKind<Bytes> => ({
  name: 'Size',
  expected: `a size from ${formatSize(min)} to ${formatSize(max)}, such as 512B, 64KiB or 1MiB`,
  parse: quantityParser('a size', parseSize, suggestSize, formatSize, min, max),
  render: formatSize,
  json: { type: 'string', pattern: sizePattern },
})

const byteRateKind = ({ min = 1, max = tebibyte }: Range): ScalarKind<BytesPerSecond> => ({
  name: 'ByteRate',
  expected: `bytes a second from ${formatByteRate(min)} to ${formatByteRate(max)}, such as 240B/s or 1KiB/s`,
  parse: quantityParser('a rate', parseByteRate, suggestByteRate, formatByteRate, min, max),
  render: formatByteRate,
  json: { type: 'string', pattern: byteRatePattern },
})

const percentKind = ({ min = 0, max = 1 }: Range): ScalarKind<Fraction> => ({
  name: 'Percent',
  expected: `a percentage from ${formatPercent(min)} to ${formatPercent(max)}, such as 10%`,
  parse: quantityParser('a percentage', parsePercent, suggestPercent, formatPercent, min, max),
  render: formatPercent,
  json: { type: 'string', pattern: percentPattern },
})

const quantityParser =
  (
    what: string,
    parseText: (text: string) => number | undefined,
    suggest: (text: string) => string | undefined,
    format: (value: number) => string,
    min: number,
    max: number,
  ): ScalarKind<number>['parse'] =>
  (value) => {
    if (typeof value === 'boolean') return new InvalidScalar('wrong type')
    const text = String(value)
    const parsed = parseText(text)
    if (parsed !== undefined) return withinRange(parsed, min, max, format)
    if (text === 'none') return new InvalidScalar(`not ${what}`, cannotDisable)
    const suggestion = suggest(text)
    const bare = /^\s*[\d.]+\s*$/.test(text)
    return new InvalidScalar(bare ? 'a unit is missing' : `not ${what}`, suggestion && `write ${suggestion}`)
  }

/** A whole number within a range. */
export const integerKind = ({ min, max }: Required<Range>): ScalarKind<number> => ({
  expected: `a whole number from ${min} to ${max}`,
  parse: (value, fromVariable) => {
    const numeric = typeof value === 'string' && /^\d+$/.test(value)
    if (numeric && !fromVariable)
      return new InvalidScalar('a number in quotes', `write ${Number(value)}, without quotes`)
    const number = numeric ? Number(value) : value
    if (typeof number !== 'number')
      return new InvalidScalar('not a number', number === 'none' ? cannotDisable : undefined)
    return Number.isInteger(number) ? withinRange(number, min, max, String) : new InvalidScalar('not a whole number')
  },
  json: { type: 'integer', minimum: min, maximum: max },
})

function withinRange(
  value: number,
  min: number,
  max: number,
  format: (value: number) => string,
): number | InvalidScalar {
  if (value < min) return new InvalidScalar('too small', `write at least ${format(min)}`)
  if (value > max) return new InvalidScalar('too large', `write at most ${format(max)}`)
  return value
}

/** Adds `none` and `false` to a kind: both are 0, which is rendered as `none`. */
const orZero = (kind: ScalarKind<Milliseconds>): ScalarKind<Milliseconds> => {
  const { parse, ...rest } = orNone(kind)
  return {
    ...rest,
    parse: (value, fromVariable) => parse(value, fromVariable) ?? 0,
    render: (value) => (value === 0 ? 'none' : formatDuration(value)),
  }
}

/** Adds `none` and `false` to a kind: both are null, no limit. */
export const orNone = <T>({
  name,
  expected,
  parse,
  render = renderPlain,
  json,
}: ScalarKind<T>): ScalarKind<T | null> => ({
  ...(name !== undefined && { name: `${name}OrNone` }),
  expected: `${expected}; or none`,
  parse: (value, fromVariable) => {
    if (value === 'none' || value === false || (fromVariable && value === 'false')) return null
    const parsed = parse(value, fromVariable)
    const off = typeof value === 'string' && /^(none|off|no|never|null|unlimited|infinity)$/i.test(value)
    return parsed instanceof InvalidScalar && off
      ? new InvalidScalar(parsed.message, 'write none to turn this bound off')
      : parsed
  },
  render: (value) => (value === null ? 'none' : render(value)),
  json: { anyOf: [json, { enum: ['none', false] }] },
})

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
