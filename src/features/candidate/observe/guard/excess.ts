/** One kind of requests that both sides had: of an operation, say. */
export interface Stratum {
  /** How many requests the candidate had, and how many of them were bad. */
  readonly requests: number
  readonly bad: number
  /** The same of the primary, which it is compared with. */
  readonly otherRequests: number
  readonly otherBad: number
}

/**
 * Bounds the natural logarithm of the probability that so many bad requests, or more, are on the candidate by chance,
 * when both sides are alike. Given how many bad ones there are on both sides together, those on the candidate are then
 * binomial within each stratum, by its part of the requests. The sum has the bound of Chernoff: the least over t of
 * E[exp(t·X)] / exp(t·x). It is never below the true probability. Where it cannot be below `atMost`, it is not computed
 * and is 0.
 */
export const logChanceOfExcess = (strata: readonly Stratum[], atMost = 0): number => {
  const parts = strata.flatMap(({ requests, bad, otherRequests, otherBad }) => {
    const trials = bad + otherBad
    return trials === 0 ? [] : [{ trials, bad, chance: requests / (requests + otherRequests) }]
  })
  const observed = strata.reduce((sum, { bad }) => sum + bad, 0)
  const mean = parts.reduce((sum, { trials, chance }) => sum + trials * chance, 0)
  if (observed <= mean) return 0
  // The least that it can be is the chance that each of these is on the candidate.
  if (parts.reduce((sum, { bad, chance }) => sum + bad * Math.log(chance), 0) > atMost) return 0
  const exponent = (t: number): number =>
    parts.reduce((sum, { trials, chance }) => sum + trials * Math.log1p(chance * Math.expm1(t)), -t * observed)
  const slope = (t: number): number =>
    parts.reduce((sum, { trials, chance }) => {
      const tilted = chance * Math.exp(t)
      return sum + (trials * tilted) / (1 - chance + tilted)
    }, -observed)
  // The slope rises with t. Where all bad ones are on the candidate it never reaches 0, and the bound is at the end.
  let [low, high] = [0, maxTilt]
  for (let round = 0; round < 50; round++) {
    const middle = (low + high) / 2
    if (slope(middle) < 0) low = middle
    else high = middle
  }
  return Math.min(0, exponent(high))
}

// exp of it is far from the largest number, and beyond it a bound changes in no digit that matters.
const maxTilt = 60

/** Returns how many bad requests the candidate would have, were it as good as the primary. */
export const expectedBad = (strata: readonly Stratum[]): number =>
  strata.reduce(
    (sum, { requests, otherRequests, otherBad }) =>
      otherRequests === 0 ? sum : sum + (requests * otherBad) / otherRequests,
    0,
  )
