/**
 * Tells whether a number is a multiple of another one (JSON Schema 2020-12 validation §6.2.1), as decimals: 19.99 is
 * one of 0.01, though the quotient of the two doubles is 1998.9999999999998.
 */
export const isMultipleOf = (value: number, divisor: number): boolean => {
  if (value % divisor === 0) return true
  const nearest = Math.round(value / divisor) * divisor
  return Number(nearest.toFixed(countDecimals(divisor))) === value
}

/** Counts the digits behind the point, as many as `toFixed` takes. */
const countDecimals = (value: number): number => {
  const [digits = '', exponent = '0'] = String(value).split('e')
  const [, fraction = ''] = digits.split('.')
  return Math.min(100, Math.max(0, fraction.length - Number(exponent)))
}
