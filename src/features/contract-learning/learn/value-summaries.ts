import { isDate } from '../../contract/check/formats.ts'

/**
 * Accepts a part of what a contract accepts under the same name, so that a draft accepts the learned strings. No two
 * parts of an expression match the same characters in different ways: each is linear.
 */
interface StringFormat {
  readonly keyword: { readonly format: string } | { readonly pattern: string }
  readonly matches: (text: string) => boolean
}

// From the narrowest to the widest: a draft has the first that all strings fit.
const stringFormats: readonly StringFormat[] = [
  { keyword: { format: 'uuid' }, matches: matching(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i) },
  { keyword: { format: 'date-time' }, matches: (text) => dateTime.test(text) && isDate(text.slice(0, 10)) },
  { keyword: { format: 'date' }, matches: isDate },
  { keyword: { format: 'email' }, matches: (text) => email.test(text) },
  { keyword: { format: 'uri' }, matches: (text) => uri.test(text) },
  { keyword: { pattern: '^-?[0-9]+$' }, matches: matching(/^-?\d+$/) },
  { keyword: { pattern: '^-?[0-9]+(\\.[0-9]+)?$' }, matches: matching(/^-?\d+(?:\.\d+)?$/) },
]

function matching(pattern: RegExp): StringFormat['matches'] {
  return (text) => pattern.test(text)
}

// RFC 3339 §5.6, without leap seconds.
const dateTime = /^.{10}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/
const email = /^[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@(?:[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*\.)+[A-Za-z]{2,}$/
const uri = /^https?:\/\/[A-Za-z0-9.-]+(?::\d{1,5})?(?:\/(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$/

type StringFormats = number

export const everyFormat: StringFormats = 2 ** stringFormats.length - 1

const maxLength = 2048

export const narrowFormats = (standing: StringFormats, text: string): StringFormats => {
  if (standing === 0 || text.length > maxLength) return 0
  let left = standing
  for (let i = 0; i < stringFormats.length; i++) {
    if ((left & (1 << i)) !== 0 && stringFormats[i]?.matches(text) === false) left &= ~(1 << i)
  }
  return left
}

export const formatKeyword = (standing: StringFormats): StringFormat['keyword'] | null =>
  stringFormats.find((_, i) => (standing & (1 << i)) !== 0)?.keyword ?? null

/** Bits: 0 up to 1, 1 up to 10, 10 up to 100, and so on. Exact extremes would be values of a client. */
type Magnitudes = number

/** 10^15 and above: doubles do not tell larger whole numbers apart. */
const lastExponent = 15

export const magnitudeOf = (value: number): Magnitudes => {
  let bit = 1
  for (let limit = 1, exponent = 0; value >= limit && exponent <= lastExponent; limit *= 10, exponent++) bit <<= 1
  return bit
}

/** `from` and `to` are inclusive, `above` and `below` exclusive. */
type MagnitudeRange = Readonly<Partial<Record<'above' | 'from' | 'to' | 'below', number>>>

export const describeMagnitudes = (positive: Magnitudes, negative: Magnitudes): MagnitudeRange => ({
  ...(negative === 0 ? { from: floorOf(lowestBit(positive)) } : endAt('above', -1, highestBit(negative))),
  ...(positive === 0 ? { to: -floorOf(lowestBit(negative)) } : endAt('below', 1, highestBit(positive))),
})

const endAt = (end: 'above' | 'below', sign: 1 | -1, bit: number): MagnitudeRange =>
  bit > lastExponent ? {} : { [end]: sign * 10 ** bit }

const floorOf = (bit: number): number => (bit === 0 ? 0 : 10 ** (bit - 1))

const highestBit = (bits: Magnitudes): number => 31 - Math.clz32(bits)

const lowestBit = (bits: Magnitudes): number => highestBit(bits & -bits)
