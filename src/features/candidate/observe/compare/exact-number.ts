import type { StepBudget } from '../../../contract/check/step-budget.ts'
import type { NumberTolerance } from './comparison.ts'

/** A JSON number that a double cannot hold exactly: a 20-digit id, 1e400. */
export class ExactNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type JsonNumber = number | ExactNumber

export const toExactNumber = (value: number, text: string): JsonNumber =>
  Number.isFinite(value) && isSameDecimal(parseDecimal(text), parseDecimal(String(value)))
    ? value
    : new ExactNumber(text)

/** 1, 1.0 and 10e-1 are the same. Integers beyond 2^53 are ids and have no tolerance. */
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
  const [one, another] = [parseDecimal(text), parseDecimal(other)]
  if (isSameDecimal(one, another)) return true
  return tolerance !== null && !isLargeInteger(one) && !isLargeInteger(another) && isWithin(one, another, tolerance)
}

// Exact sums and products take about 2 µs.
const stepsPerDecimal = 500

/** Null: too close to the tolerance for doubles to decide. */
const isClearlyWithin = (primary: number, candidate: number, tolerance: NumberTolerance): boolean | null => {
  if (isUnsafeInteger(primary) || isUnsafeInteger(candidate)) return false
  const bound = boundOf(primary, tolerance)
  const margin = (Math.abs(primary) + Math.abs(candidate) + bound) * roundingError
  const apart = Math.abs(primary - candidate)
  if (apart < bound - margin) return true
  return apart > bound + margin ? false : null
}

const roundingError = 1e-15

const isUnsafeInteger = (value: number): boolean => Number.isInteger(value) && !Number.isSafeInteger(value)

export const numberText = (value: JsonNumber): string => (typeof value === 'number' ? String(value) : value.text)

/** `digits` × 10^`exponent`. */
interface Decimal {
  /** Without zeros at either end; empty for 0. */
  readonly digits: string
  readonly exponent: number
  readonly isNegative: boolean
}

const parseDecimal = (text: string): Decimal => {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e')
  const isNegative = mantissa.startsWith('-')
  const [whole = '', fraction = ''] = (isNegative ? mantissa.slice(1) : mantissa).split('.')
  const all = whole + fraction
  // Loops, because the regular expression /0+$/ takes quadratic time.
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

// Longer numbers are compared as doubles: exact arithmetic takes more than linear time.
const maxDigits = 400

/** 0.30 and 0.29 are exactly 0.01 apart. */
const isWithin = (primary: Decimal, candidate: Decimal, tolerance: NumberTolerance): boolean => {
  const isRelative = 'relative' in tolerance
  const bound = parseDecimal(String(isRelative ? tolerance.relative : tolerance.absolute))
  const all = [primary, candidate, bound]
  const unit = Math.min(...all.map(({ exponent }) => exponent))
  if (Math.max(...all.map(({ digits, exponent }) => digits.length + exponent)) - unit > maxDigits)
    return Math.abs(toDouble(primary) - toDouble(candidate)) <= boundOf(toDouble(primary), tolerance)
  const [one, other] = [toScaled(primary, unit), toScaled(candidate, unit)]
  const apart = one > other ? one - other : other - one
  if (!isRelative) return apart <= toScaled(bound, unit)
  const part = Math.min(bound.exponent, 0)
  return apart * 10n ** BigInt(-part) <= (one < 0n ? -one : one) * toScaled(bound, part)
}

/** In units of 10^`unit`, which must divide the number. */
const toScaled = ({ digits, exponent, isNegative }: Decimal, unit: number): bigint => {
  const scaled = BigInt(digits) * 10n ** BigInt(digits === '' ? 0 : exponent - unit)
  return isNegative ? -scaled : scaled
}

const toDouble = ({ digits, exponent, isNegative }: Decimal): number =>
  Number(`${isNegative ? '-' : ''}${digits === '' ? '0' : digits}e${exponent}`)

const boundOf = (primary: number, tolerance: NumberTolerance): number =>
  'relative' in tolerance ? Math.abs(primary) * tolerance.relative : tolerance.absolute
