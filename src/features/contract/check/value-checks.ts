import type { PlainObject } from '../../../core/lib/plain-object.ts'
import type { StepBudget } from './step-budget.ts'

/** Creates what compares two values of JSON, for `const` and `enum`: it takes a step for each value in them. */
export const createEqual = ({ take }: StepBudget): ((one: unknown, other: unknown) => boolean) => {
  const isEqual = (one: unknown, other: unknown): boolean => {
    take(1)
    if (one === other) return true
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
    return Array.isArray(one) === Array.isArray(other) && haveEqualMembers(one as PlainObject, other as PlainObject)
  }
  /** Compares members until two differ: no list of names is made, since most values differ in their first member. */
  const haveEqualMembers = (one: PlainObject, other: PlainObject): boolean => {
    let left = 0
    // Nothing is inherited that is enumerable: JSON.parse made them.
    for (const name in one) {
      if (!(Object.hasOwn(other, name) && isEqual(one[name], other[name]))) return false
      left++
    }
    for (const _ in other) left--
    return left === 0
  }
  return isEqual
}

/**
 * Tells whether no two items of an array are equal (JSON Schema 2020-12 validation §6.4.3), in time that grows with the
 * array alone. Ajv compares each item with each other one: an array of 1 MiB would hold the process for minutes.
 * Each value and each name in the items takes steps, and so does what an item is looked up by.
 */
export const hasUniqueItems = (items: readonly unknown[], { takeCall }: StepBudget): boolean => {
  const toCanonicalText = (value: unknown): string => {
    takeCall(value)
    if (typeof value === 'string') return JSON.stringify(value)
    if (typeof value !== 'object' || value === null) return String(value)
    // A text that grows takes a third of the time of a list that is joined.
    let text = ''
    if (Array.isArray(value)) {
      for (const item of value) text += `${toCanonicalText(item)},`
      return `[${text}]`
    }
    const members = value as Readonly<Record<string, unknown>>
    for (const name of Object.keys(members).sort())
      text += `${toCanonicalText(name)}:${toCanonicalText(members[name])},`
    return `{${text}}`
  }
  // A primitive is itself; an object is a text that no string of the array can be confused with.
  const toKey = (item: unknown): unknown => {
    if (typeof item === 'object') return toCanonicalText(item)
    takeCall(item)
    return typeof item === 'string' ? `"${item}` : item
  }
  const seen = new Set<unknown>()
  for (const item of items) {
    const key = toKey(item)
    takeCall(key)
    if (seen.has(key)) return false
    seen.add(key)
  }
  return true
}

/**
 * Creates what tells whether a number is a multiple of another one (JSON Schema 2020-12 validation §6.2.1), as
 * decimals: 19.99 is one of 0.01, though the quotient of the two doubles is 1998.9999999999998. The decimal of a double
 * is the shortest one that reads as it: what the sender wrote, up to 15 digits.
 */
export const createMultipleOf = (divisor: number, steps: StepBudget): ((value: number) => boolean) => {
  const by = toDecimal(divisor)
  const factor = by.digits.length <= maxExactDigits ? Number(by.digits) : 0
  const scale = by.exponent <= 0 && -by.exponent <= maxExactPower ? 10 ** -by.exponent : 0
  const modulus = BigInt(by.digits)
  return (value) => {
    const scaled = Math.round(value * scale)
    // A decimal of 15 digits is the only one of its double. A multiple has at most as many decimals as the divisor.
    if (factor > 0 && scale > 0 && Math.abs(scaled) < 10 ** maxExactDigits)
      return scaled / scale === value && scaled % factor === 0
    steps.take(stepsPerLongNumber)
    return value === 0 || (Number.isFinite(value) && divides(by, modulus, toDecimal(value)))
  }
}

const maxExactDigits = 15
// Numbers of more digits are divided as integers of any size: 0.5 to 1 µs.
const stepsPerLongNumber = 150
/** The largest power of ten that is a double. */
const maxExactPower = 22

/** The decimal `digits · 10 ** exponent`, without its sign. */
interface Decimal {
  readonly digits: string
  readonly exponent: number
}

const toDecimal = (value: number): Decimal => {
  const text = String(Math.abs(value))
  const end = text.indexOf('e')
  const digits = end === -1 ? text : text.slice(0, end)
  const exponent = end === -1 ? 0 : Number(text.slice(end + 1))
  const point = digits.indexOf('.')
  if (point === -1) return { digits, exponent }
  const [whole, fraction] = [digits.slice(0, point), digits.slice(point + 1)]
  return { digits: whole === '0' ? fraction : whole + fraction, exponent: exponent - fraction.length }
}

const divides = (by: Decimal, modulus: bigint, { digits, exponent }: Decimal): boolean => {
  const shift = exponent - by.exponent
  if (shift >= 0) return (BigInt(digits) * powerOfTen(shift, modulus)) % modulus === 0n
  // A number of fewer digits ends in fewer zeros, so that no power of ten of 300 digits is made.
  return -shift < digits.length && BigInt(digits) % (modulus * 10n ** BigInt(-shift)) === 0n
}

/** Computes a power of ten by a modulus, in a few steps: 1e308 and 1e-320 are 628 digits apart. */
const powerOfTen = (exponent: number, modulus: bigint): bigint => {
  if (exponent <= maxExactPower) return BigInt(10 ** exponent)
  let power = 1n
  let base = 10n % modulus
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) power = (power * base) % modulus
    base = (base * base) % modulus
  }
  return power
}
