/** Returns the middle of `values`; the mean of the two middle ones when their number is even. NaN for none. */
export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Returns the value below which the share `part` (0 to 1) of sorted `values` lies, by nearest rank. NaN for none. */
export const quantile = (sorted: ArrayLike<number>, part: number): number =>
  sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? Number.NaN

export interface Interval {
  readonly middle: number
  /** Holds the 95 % interval. */
  readonly low: number
  readonly high: number
}

export interface Ratio {
  readonly ratio: number
  readonly low: number
  readonly high: number
}

/** Divides two peers round by round. */
export const ratio = (ours: readonly number[], theirs: readonly number[]): Ratio => {
  const { middle, low, high } = byRound(ours, theirs, (our, their) => our / their)
  return { ratio: middle, low, high }
}

const resamples = 10_000

/**
 * Compares two peers by pairs: turns of the same round stand next to each other in time, so that a slow spell of the
 * machine falls on both. Gives the median of what `compared` says of the pairs and its 95 % interval by bootstrap over
 * rounds. With five rounds that interval is about the smallest and the largest pair: wide rather than flattering.
 */
export const byRound = (
  ours: readonly number[],
  theirs: readonly number[],
  compared: (our: number, their: number) => number,
): Interval => {
  const pairs = ours.map((value, round) => compared(value, theirs[round] ?? Number.NaN))
  const random = generator(1)
  const medians = new Float64Array(resamples)
  for (let sample = 0; sample < resamples; sample++) {
    medians[sample] = median(pairs.map(() => pairs[Math.floor(random() * pairs.length)] ?? Number.NaN))
  }
  medians.sort()
  return { middle: median(pairs), low: quantile(medians, 0.025), high: quantile(medians, 0.975) }
}

/** Makes the mulberry32 generator: a fixed seed, so that the same rounds give the same interval. */
const generator = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}
