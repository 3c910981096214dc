/** How quantities are parsed from the file, rendered and described: each with its range, its unit and its hints. */
import {
  type Bytes,
  type BytesPerSecond,
  byteRatePattern,
  durationPattern,
  type Fraction,
  formatByteRate,
  formatDuration,
  formatMultiple,
  formatPercent,
  formatSize,
  type Milliseconds,
  multiplePattern,
  parseByteRate,
  parseDuration,
  parseMultiple,
  parsePercent,
  parseSize,
  percentPattern,
  sizePattern,
  suggestByteRate,
  suggestDuration,
  suggestMultiple,
  suggestPercent,
  suggestSize,
} from '../../lib/text/units.ts'
import { renderPlain } from './render.ts'
import { InvalidScalar, type ScalarKind } from './scalar.ts'

export const hour = 3_600_000

export const day = 24 * hour

export const mebibyte = 1024 ** 2

const tebibyte = 1024 ** 4

/** Both ends of a range, included. */
export interface Range {
  readonly min?: number
  readonly max?: number
}

/** The hint for `none` where {@link orNone} does not apply. */
const cannotDisable = 'this bound cannot be turned off: write a larger one, or leave the key out'

export const durationKind = ({ min = 1, max = day }: Range): ScalarKind<Milliseconds> => ({
  name: 'Duration',
  expected: `a duration from ${formatDuration(min)} to ${formatDuration(max)}, such as 250ms, 2s, 1m or 1h`,
  parse: quantityParser('a duration', parseDuration, suggestDuration, formatDuration, min, max),
  render: formatDuration,
  json: { type: 'string', pattern: durationPattern },
})

export const sizeKind = ({ min = 0, max = tebibyte }: Range): ScalarKind<Bytes> => ({
  name: 'Size',
  expected: `a size from ${formatSize(min)} to ${formatSize(max)}, such as 512B, 64KiB or 1MiB`,
  parse: quantityParser('a size', parseSize, suggestSize, formatSize, min, max),
  render: formatSize,
  json: { type: 'string', pattern: sizePattern },
})

export const byteRateKind = ({ min = 1, max = tebibyte }: Range): ScalarKind<BytesPerSecond> => ({
  name: 'ByteRate',
  expected: `bytes a second from ${formatByteRate(min)} to ${formatByteRate(max)}, such as 240B/s or 1KiB/s`,
  parse: quantityParser('a rate', parseByteRate, suggestByteRate, formatByteRate, min, max),
  render: formatByteRate,
  json: { type: 'string', pattern: byteRatePattern },
})

export const percentKind = ({ min = 0, max = 1 }: Range): ScalarKind<Fraction> => ({
  name: 'Percent',
  expected: `a percentage from ${formatPercent(min)} to ${formatPercent(max)}, such as 10%`,
  parse: quantityParser('a percentage', parsePercent, suggestPercent, formatPercent, min, max),
  render: formatPercent,
  json: { type: 'string', pattern: percentPattern },
})

export const multipleKind = ({ min = 1, max = 100 }: Range): ScalarKind<number> => ({
  name: 'Multiple',
  expected: `how many times, from ${formatMultiple(min)} to ${formatMultiple(max)}, such as 2x`,
  parse: quantityParser('a multiple', parseMultiple, suggestMultiple, formatMultiple, min, max),
  render: formatMultiple,
  json: { type: 'string', pattern: multiplePattern },
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
export const orZero = (kind: ScalarKind<Milliseconds>): ScalarKind<Milliseconds> => {
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
