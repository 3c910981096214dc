/**
 * Creates what tells whether a number is a multiple of another one (JSON Schema 2020-12 validation §6.2.1), as
 * decimals: 19.99 is one of 0.01, though the quotient of the two doubles is 1998.9999999999998. The decimal of a double
 * is the shortest one that reads as it: what the sender wrote, up to 15 digits. `takeLongSteps` counts where a client's
 * number has more digits.
 */
export const createMultipleOf = (divisor: number, takeLongSteps: () => void = ignore): ((value: number) => boolean) => {
  const by = toDecimal(divisor)
  const factor = by.digits.length <= maxExactDigits ? Number(by.digits) : 0
  const scale = by.exponent <= 0 && -by.exponent <= maxExactPower ? 10 ** -by.exponent : 0
  const modulus = BigInt(by.digits)
  return (value) => {
    const scaled = Math.round(value * scale)
    // A decimal of 15 digits is the only one of its double. A multiple has at most as many decimals as the divisor.
    if (factor > 0 && scale > 0 && Math.abs(scaled) < 10 ** maxExactDigits)
      return scaled / scale === value && scaled % factor === 0
    takeLongSteps()
    return value === 0 || (Number.isFinite(value) && divides(by, modulus, toDecimal(value)))
  }
}

const ignore = (): void => {}

const maxExactDigits = 15
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
