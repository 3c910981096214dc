import type { PlainObject } from '../../../core/lib/plain-object.ts'
import type { StepBudget } from './step-budget.ts'

export const createEqual = ({ take }: StepBudget): ((one: unknown, other: unknown) => boolean) => {
  const isEqual = (one: unknown, other: unknown): boolean => {
    take(1)
    if (one === other) return true
    if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
    return Array.isArray(one) === Array.isArray(other) && haveEqualMembers(one as PlainObject, other as PlainObject)
  }
  const haveEqualMembers = (one: PlainObject, other: PlainObject): boolean => {
    let left = 0
    for (const name in one) {
      if (!(Object.hasOwn(other, name) && isEqual(one[name], other[name]))) return false
      left++
    }
    for (const _ in other) left--
    return left === 0
  }
  return isEqual
}

/** JSON Schema 2020-12 validation §6.4.3, in linear time. Ajv's takes minutes for an array of 1 MiB. */
export const hasUniqueItems = (items: readonly unknown[], { takeCall }: StepBudget): boolean => {
  const toCanonicalText = (value: unknown): string => {
    takeCall(value)
    if (typeof value === 'string') return JSON.stringify(value)
    if (typeof value !== 'object' || value === null) return String(value)
    // Appending takes a third of the time of joining a list.
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
  // An object's key differs from the key of every string.
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
 * JSON Schema 2020-12 validation §6.2.1, on decimals: 19.99 is a multiple of 0.01, though the quotient of the doubles
 * is 1998.9999999999998. The shortest decimal of a double is what the sender wrote, up to 15 digits.
 */
export const createMultipleOf = (divisor: number, steps: StepBudget): ((value: number) => boolean) => {
  const by = toDecimal(divisor)
  const factor = by.digits.length <= maxExactDigits ? Number(by.digits) : 0
  const scale = by.exponent <= 0 && -by.exponent <= maxExactPower ? 10 ** -by.exponent : 0
  const modulus = BigInt(by.digits)
  return (value) => {
    const scaled = Math.round(value * scale)
    // A double has one decimal of 15 digits. A multiple has at most as many decimals as the divisor.
    if (factor > 0 && scale > 0 && Math.abs(scaled) < 10 ** maxExactDigits)
      return scaled / scale === value && scaled % factor === 0
    steps.take(stepsPerLongNumber)
    return value === 0 || (Number.isFinite(value) && divides(by, modulus, toDecimal(value)))
  }
}

const maxExactDigits = 15
// Longer numbers are divided as BigInt, in 0.5 to 1 µs.
const stepsPerLongNumber = 150
const maxExactPower = 22

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
  // A number of fewer digits ends in fewer zeros: this avoids powers of ten of 300 digits.
  return -shift < digits.length && BigInt(digits) % (modulus * 10n ** BigInt(-shift)) === 0n
}

/** Takes a few steps, though 1e308 and 1e-320 are 628 digits apart. */
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
