import { isDate } from '../../contract/check/formats.ts'

/**
 * The formats that learning knows. Each accepts a part of what a contract accepts under the same name, so that a
 * draft accepts the strings from which it was learnt. Every expression is linear: no two of its parts can match the
 * same characters in different ways.
 */
interface StringFormat {
  readonly keyword: { readonly format: string } | { readonly pattern: string }
  readonly matches: (text: string) => boolean
}

// From the narrowest to the widest: the first that all strings fit is written.
const stringFormats: readonly StringFormat[] = [
  { keyword: { format: 'uuid' }, matches: (text) => uuid.test(text) },
  { keyword: { format: 'date-time' }, matches: (text) => dateTime.test(text) && isDate(text.slice(0, 10)) },
  { keyword: { format: 'date' }, matches: isDate },
  { keyword: { format: 'email' }, matches: (text) => email.test(text) },
  { keyword: { format: 'uri' }, matches: (text) => uri.test(text) },
  { keyword: { pattern: '^-?[0-9]+$' }, matches: (text) => integer.test(text) },
  { keyword: { pattern: '^-?[0-9]+(\\.[0-9]+)?$' }, matches: (text) => decimal.test(text) },
]

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
// RFC 3339 §5.6, without leap seconds.
const dateTime = /^.{10}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
const email = /^[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@(?:[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*\.)+[A-Za-z]{2,}$/
const uri = /^https?:\/\/[A-Za-z0-9.-]+(?::\d{1,5})?(?:\/(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$/
const integer = /^-?\d+$/
const decimal = /^-?\d+(?:\.\d+)?$/

/** A set of formats, as bits. */
export type StringFormats = number

/** The set of all formats: what stands before the first string. */
export const everyFormat: StringFormats = 2 ** stringFormats.length - 1

const maxLength = 2048

/** Returns those of the formats that still stand which a string fits. */
export const narrowFormats = (standing: StringFormats, text: string): StringFormats => {
  if (standing === 0 || text.length > maxLength) return 0
  let left = standing
  for (let i = 0; i < stringFormats.length; i++) {
    if ((left & (1 << i)) !== 0 && stringFormats[i]?.matches(text) === false) left &= ~(1 << i)
  }
  return left
}

/** Returns what a draft says of strings that all fit these formats; null: they have none in common. */
export const formatKeyword = (standing: StringFormats): StringFormat['keyword'] | null =>
  stringFormats.find((_, i) => (standing & (1 << i)) !== 0)?.keyword ?? null

/**
 * A set of orders of magnitude, as bits: 0 up to 1, 1 up to 10, 10 up to 100, and so on. The exact extremes would be
 * values of a client; the order of magnitude is not.
 */
export type Magnitudes = number

/** The bit of 10^15 and all above: beyond it, doubles no longer tell whole numbers apart. */
const lastExponent = 15

/** Returns the bit for a number that is not negative. */
export const magnitudeOf = (value: number): Magnitudes => {
  let bit = 1
  for (let limit = 1, exponent = 0; value >= limit && exponent <= lastExponent; limit *= 10, exponent++) bit <<= 1
  return bit
}

/** The interval that a set of magnitudes covers: each end as `from`/`to` belongs to it, as `above`/`below` does not. */
interface MagnitudeRange {
  readonly above?: number
  readonly from?: number
  readonly to?: number
  readonly below?: number
}

/**
 * Describes numbers by the magnitudes of those that are not negative, and of the others' absolute values. An end that
 * lies beyond 10^16 is left out.
 */
export const describeMagnitudes = (positive: Magnitudes, negative: Magnitudes): MagnitudeRange => ({
  ...(negative === 0 ? { from: floorOf(lowestBit(positive)) } : endAt('above', -1, highestBit(negative))),
  ...(positive === 0 ? { to: -floorOf(lowestBit(negative)) } : endAt('below', 1, highestBit(positive))),
})

const endAt = (end: 'above' | 'below', sign: 1 | -1, bit: number): MagnitudeRange =>
  bit > lastExponent ? {} : { [end]: sign * 10 ** bit }

/** Returns the least number of a magnitude. */
const floorOf = (bit: number): number => (bit === 0 ? 0 : 10 ** (bit - 1))

const highestBit = (bits: Magnitudes): number => 31 - Math.clz32(bits)

const lowestBit = (bits: Magnitudes): number => highestBit(bits & -bits)
