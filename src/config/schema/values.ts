import {
  type Bytes,
  type BytesPerSecond,
  byteRatePattern,
  durationPattern,
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
  type Share,
  sizePattern,
  suggestByteRate,
  suggestDuration,
  suggestPercent,
  suggestSize,
} from '../../units.ts'
import { plain } from './facts.ts'
import { type Kind, scalar, Wrong } from './scalar.ts'

const day = 24 * 3_600_000
const tebibyte = 1024 ** 4

interface Range {
  readonly min?: number
  readonly max?: number
}

/** Reads a time in milliseconds: from 1ms to 24h unless `range` says otherwise. */
export const duration = (description: string, range: Range = {}) => scalar(durations(range), description)

/** Reads a time, or `none`/`false` for null: no such bound. */
export const optionalDuration = (description: string, range: Range = {}) =>
  scalar(orNone(durations(range)), description)

/** Reads a time, or `none`/`false` for 0, which allows nothing either. */
export const durationOrZero = (description: string, range: Range = {}) => scalar(orZero(durations(range)), description)

/** Reads a size in bytes: from 0B to 1TiB unless `range` says otherwise. */
export const size = (description: string, range: Range = {}) => scalar(sizes(range), description)

/** Reads a size, or `none`/`false` for null: no such bound. */
export const optionalSize = (description: string, range: Range = {}) => scalar(orNone(sizes(range)), description)

/** Reads bytes a second, or `none`/`false` for null: no such bound. */
export const optionalByteRate = (description: string, range: Range = {}) =>
  scalar(orNone(byteRates(range)), description)

/** Reads a percentage as a share of 1: from 0% to 100% unless `range`, in shares as well, says otherwise. */
export const percent = (description: string, range: Range = {}) => scalar(percents(range), description)

/** Reads a percentage, or `none`/`false` for null: no such bound. */
export const optionalPercent = (description: string, range: Range = {}) => scalar(orNone(percents(range)), description)

/** Reads a whole number within `range`. */
export const integer = (description: string, range: Required<Range>) => scalar(integers(range), description)

/** Reads a whole number, or `none`/`false` for null: no such bound. */
export const optionalInteger = (description: string, range: Required<Range>) =>
  scalar(orNone(integers(range)), description)

/** Reads `true` or `false`. */
export const boolean = (description: string) =>
  scalar<boolean>(
    {
      name: 'Boolean',
      expected: 'true or false',
      read: (value, whole) => {
        if (typeof value === 'boolean') return value
        if (whole && (value === 'true' || value === 'false')) return value === 'true'
        if (typeof value !== 'string') return new Wrong('wrong type')
        const meant = { true: 'true', yes: 'true', on: 'true', false: 'false', no: 'false', off: 'false' }
        const word = Object.entries(meant).find(([name]) => name === value.toLowerCase())?.[1]
        return new Wrong('not a boolean', word && `write ${word}, without quotes`)
      },
      json: { type: 'boolean' },
    },
    description,
  )

/** Reads one of a few words. */
export const choice = <const W extends string>(description: string, words: readonly W[]) =>
  scalar<W>(
    {
      expected: `one of ${words.join(', ')}`,
      read: (value) => words.find((word) => word === value) ?? new Wrong('unknown value', sameButCase(value, words)),
      json: { type: 'string', enum: words },
    },
    description,
  )

/** Refuses every value of a key that exists elsewhere but not here, and says why. */
export const refused = (message: string, hint: string) =>
  scalar<never>(
    { expected: 'no such key here', read: () => new Wrong(message, hint), write: () => undefined, json: { not: {} } },
    message,
  )

const sameButCase = (value: unknown, words: readonly string[]): string | undefined => {
  const word = words.find((known) => known === String(value).trim().toLowerCase())
  return word && `write ${word}`
}

/** Says of `none`, where {@link orNone} does not take it, what to write instead. */
const stays = 'this bound cannot be turned off: write a larger one, or leave the key out'

const durations = ({ min = 1, max = day }: Range): Kind<Milliseconds> => ({
  name: 'Duration',
  expected: `a duration from ${formatDuration(min)} to ${formatDuration(max)}, such as 250ms, 2s, 1m or 1h`,
  read: measured('a duration', parseDuration, suggestDuration, formatDuration, min, max),
  write: formatDuration,
  json: { type: 'string', pattern: durationPattern },
})

const sizes = ({ min = 0, max = tebibyte }: Range): Kind<Bytes> => ({
  name: 'Size',
  expected: `a size from ${formatSize(min)} to ${formatSize(max)}, such as 512B, 64KiB or 1MiB`,
  read: measured('a size', parseSize, suggestSize, formatSize, min, max),
  write: formatSize,
  json: { type: 'string', pattern: sizePattern },
})

const byteRates = ({ min = 1, max = tebibyte }: Range): Kind<BytesPerSecond> => ({
  name: 'ByteRate',
  expected: `bytes a second from ${formatByteRate(min)} to ${formatByteRate(max)}, such as 240B/s or 1KiB/s`,
  read: measured('a rate', parseByteRate, suggestByteRate, formatByteRate, min, max),
  write: formatByteRate,
  json: { type: 'string', pattern: byteRatePattern },
})

const percents = ({ min = 0, max = 1 }: Range): Kind<Share> => ({
  name: 'Percent',
  expected: `a percentage from ${formatPercent(min)} to ${formatPercent(max)}, such as 10%`,
  read: measured('a percentage', parsePercent, suggestPercent, formatPercent, min, max),
  write: formatPercent,
  json: { type: 'string', pattern: percentPattern },
})

const measured =
  (
    what: string,
    parse: (text: string) => number | undefined,
    suggest: (text: string) => string | undefined,
    format: (value: number) => string,
    min: number,
    max: number,
  ): Kind<number>['read'] =>
  (value) => {
    if (typeof value === 'boolean') return new Wrong('wrong type')
    const text = String(value)
    const parsed = parse(text)
    if (parsed !== undefined) return between(parsed, min, max, format)
    if (text === 'none') return new Wrong(`not ${what}`, stays)
    const suggestion = suggest(text)
    const bare = /^\s*[\d.]+\s*$/.test(text)
    return new Wrong(bare ? 'a unit is missing' : `not ${what}`, suggestion && `write ${suggestion}`)
  }

/** Is a whole number within a range. */
export const integers = ({ min, max }: Required<Range>): Kind<number> => ({
  expected: `a whole number from ${min} to ${max}`,
  read: (value, whole) => {
    const numeric = typeof value === 'string' && /^\d+$/.test(value)
    if (numeric && !whole) return new Wrong('a number in quotes', `write ${Number(value)}, without quotes`)
    const number = numeric ? Number(value) : value
    if (typeof number !== 'number') return new Wrong('not a number', number === 'none' ? stays : undefined)
    return Number.isInteger(number) ? between(number, min, max, String) : new Wrong('not a whole number')
  },
  json: { type: 'integer', minimum: min, maximum: max },
})

function between(value: number, min: number, max: number, format: (value: number) => string): number | Wrong {
  if (value < min) return new Wrong('too small', `write at least ${format(min)}`)
  if (value > max) return new Wrong('too large', `write at most ${format(max)}`)
  return value
}

/** Adds `none` and `false`: 0, and written as `none`. */
const orZero = (kind: Kind<Milliseconds>): Kind<Milliseconds> => {
  const { read, ...bound } = orNone(kind)
  return {
    ...bound,
    read: (value, whole) => read(value, whole) ?? 0,
    write: (value) => (value === 0 ? 'none' : formatDuration(value)),
  }
}

/** Adds `none` and `false`: the bound is turned off. */
export const orNone = <T>({ name, expected, read, write = plain, json }: Kind<T>): Kind<T | null> => ({
  ...(name !== undefined && { name: `${name}OrNone` }),
  expected: `${expected}; or none`,
  read: (value, whole) => {
    if (value === 'none' || value === false || (whole && value === 'false')) return null
    const got = read(value, whole)
    const off = typeof value === 'string' && /^(none|off|no|never|null|unlimited|infinity)$/i.test(value)
    return got instanceof Wrong && off ? new Wrong(got.message, 'write none to turn this bound off') : got
  },
  write: (value) => (value === null ? 'none' : write(value)),
  json: { anyOf: [json, { enum: ['none', false] }] },
})

const most = 1_000_000

/** Reads how many a second or a minute. */
export const rate = (description: string) =>
  scalar<Rate>(
    {
      expected: `a rate from 1/min to ${most}/s, such as 100/s or 30/min`,
      read: (value) => {
        if (typeof value === 'boolean') return new Wrong('wrong type')
        const text = String(value)
        const parsed = parseRate(text)
        if (parsed === undefined) return new Wrong('not a rate', hint(text))
        if (parsed.count < 1) return new Wrong('too small', 'write at least 1/min')
        return parsed.count > most ? new Wrong('too large', `write at most ${most}/s`) : parsed
      },
      write: formatRate,
      json: { type: 'string', pattern: ratePattern },
    },
    description,
  )

/** Guesses what was meant by `100`, `100/sec`, `100 rps` or `5 / minute`. */
const hint = (text: string): string | undefined => {
  const [, count, unit = ''] = /^\s*(\d+)\s*(?:\/|per\b|r\/)?\s*([a-z]*)\s*$/i.exec(text) ?? []
  if (count === undefined) return undefined
  if (/^(|s|secs?|seconds?|rps)$/i.test(unit)) return `write ${formatRate({ count: Number(count), perMs: 1000 })}`
  return /^(m|mins?|minutes?|rpm)$/i.test(unit)
    ? `write ${formatRate({ count: Number(count), perMs: 60_000 })}`
    : undefined
}
