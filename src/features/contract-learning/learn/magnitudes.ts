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
