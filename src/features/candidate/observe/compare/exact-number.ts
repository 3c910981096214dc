import type { StepBudget } from '../../../contract/check/step-budget.ts'
import type { NumberTolerance } from './comparison.ts'

/** A number of a document that no double holds as it is written: an id of twenty digits, 1e400. */
export class ExactNumber {
  /** The number as it stands in the document. */
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type JsonNumber = number | ExactNumber

/** Keeps the text of a number where a double would lose some of it. */
export const toExactNumber = (value: number, text: string): JsonNumber =>
  Number.isFinite(value) && isSameDecimal(parseDecimal(text), parseDecimal(String(value)))
    ? value
    : new ExactNumber(text)

/**
 * Tells whether two numbers are the same, however they are written: 1, 1.0 and 10e-1 are. Numbers that a tolerance
 * allows are the same too, save integers beyond 2^53: those are ids, and no amounts. Takes steps, as
 * {@link StepBudget.takeCall} does.
 */
export const isSameNumber = (
  primary: JsonNumber,
  candidate: JsonNumber,
  tolerance: NumberTolerance | null,
  steps: StepBudget,
): boolean => {
  if (primary === candidate) return true
  if (typeof primary === 'number' && typeof candidate === 'number') {
    if (tolerance === null) return false
    const isClear = isClearlyWithin(primary, candidate, tolerance)
    if (isClear !== null) return isClear
  }
  const [text, other] = [numberText(primary), numberText(candidate)]
  steps.takeCall(undefined, stepsPerDecimal + text.length + other.length)
  return isSameAsDecimal(parseDecimal(text), parseDecimal(other), tolerance)
}

// Exact sums and products take some 2 µs.
const stepsPerDecimal = 500

/** Tells what doubles can tell; null: the difference is about as large as the tolerance. */
const isClearlyWithin = (primary: number, candidate: number, tolerance: NumberTolerance): boolean | null => {
  const [one, other] = [Math.abs(primary), Math.abs(candidate)]
  if (isUnsafeInteger(primary) || isUnsafeInteger(candidate)) return false
  const bound = 'relative' in tolerance ? one * tolerance.relative : tolerance.absolute
  const margin = (one + other + bound) * roundingError
  const apart = Math.abs(primary - candidate)
  if (apart < bound - margin) return true
  return apart > bound + margin ? false : null
}

// That of a sum and of a product of doubles, with room to spare.
const roundingError = 1e-15

const isUnsafeInteger = (value: number): boolean => Number.isInteger(value) && !Number.isSafeInteger(value)

const isSameAsDecimal = (one: Decimal, other: Decimal, tolerance: NumberTolerance | null): boolean =>
  isSameDecimal(one, other) ||
  (tolerance !== null && !isLargeInteger(one) && !isLargeInteger(other) && isWithin(one, other, tolerance))

export const numberText = (value: JsonNumber): string => (typeof value === 'number' ? String(value) : value.text)

/** A decimal number: `digits` × 10^`exponent`. */
interface Decimal {
  /** Without zeros at either end; of 0 empty. */
  readonly digits: string
  readonly exponent: number
  readonly isNegative: boolean
}

const parseDecimal = (text: string): Decimal => {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e')
  const isNegative = mantissa.startsWith('-')
  const [whole = '', fraction = ''] = (isNegative ? mantissa.slice(1) : mantissa).split('.')
  const all = whole + fraction
  // Loops: an expression such as /0+$/ would take the square of the length.
  let from = 0
  while (all[from] === '0') from++
  let to = all.length
  while (to > from && all[to - 1] === '0') to--
  if (from === to) return { digits: '', exponent: 0, isNegative: false }
  return { digits: all.slice(from, to), exponent: Number(power) - fraction.length + all.length - to, isNegative }
}

const isSameDecimal = (one: Decimal, other: Decimal): boolean =>
  one.digits === other.digits && one.exponent === other.exponent && one.isNegative === other.isNegative

const isLargeInteger = ({ digits, exponent }: Decimal): boolean =>
  exponent >= 0 && digits !== '' && !Number.isSafeInteger(Number(`${digits}e${exponent}`))

// What is longer is compared as doubles: the time of exact sums and products grows faster than the length.
const maxDigits = 400

/** Tells whether a number is as near to the primary's as the tolerance allows: 0.30 and 0.29 are exactly 0.01 apart. */
const isWithin = (primary: Decimal, candidate: Decimal, tolerance: NumberTolerance): boolean => {
  const isRelative = 'relative' in tolerance
  const bound = parseDecimal(String(isRelative ? tolerance.relative : tolerance.absolute))
  const all = [primary, candidate, bound]
  const unit = Math.min(...all.map(({ exponent }) => exponent))
  if (Math.max(...all.map(({ digits, exponent }) => digits.length + exponent)) - unit > maxDigits)
    return isNear(toDouble(primary), toDouble(candidate), tolerance)
  const [one, other] = [toScaled(primary, unit), toScaled(candidate, unit)]
  const apart = one > other ? one - other : other - one
  if (!isRelative) return apart <= toScaled(bound, unit)
  const part = Math.min(bound.exponent, 0)
  return apart * 10n ** BigInt(-part) <= (one < 0n ? -one : one) * toScaled(bound, part)
}

/** Returns a number in units of 10^`unit`, which divides it. */
const toScaled = ({ digits, exponent, isNegative }: Decimal, unit: number): bigint => {
  const scaled = BigInt(digits) * 10n ** BigInt(digits === '' ? 0 : exponent - unit)
  return isNegative ? -scaled : scaled
}

const toDouble = ({ digits, exponent, isNegative }: Decimal): number =>
  Number(`${isNegative ? '-' : ''}${digits === '' ? '0' : digits}e${exponent}`)

const isNear = (primary: number, candidate: number, tolerance: NumberTolerance): boolean =>
  Math.abs(primary - candidate) <=
  ('relative' in tolerance ? Math.abs(primary) * tolerance.relative : tolerance.absolute)
