import { expect, test } from 'vitest'
import {
  expectedBad,
  logChanceOfExcess,
  type Stratum,
} from '../../../../../src/features/candidate/observe/guard/guard-comparison.ts'

const stratum = (bad: number, requests: number, otherBad: number, otherRequests: number): Stratum => ({
  ...{ requests, bad, otherRequests, otherBad },
})

const logFactorial = (n: number): number => (n < 2 ? 0 : Math.log(n) + logFactorial(n - 1))

/** The probability of `x` or more of `trials`, exactly. */
const tail = (trials: number, chance: number, x: number): number => {
  let sum = 0
  for (let k = x; k <= trials; k++) {
    const ways = logFactorial(trials) - logFactorial(k) - logFactorial(trials - k)
    sum += Math.exp(ways + k * Math.log(chance) + (trials - k) * Math.log1p(-chance))
  }
  return sum
}

test("expectedBad() applies the primary's share of bad requests to each operation", () => {
  expect(expectedBad([stratum(9, 100, 10, 1000), stratum(0, 10, 500, 1000)])).toBe(6)
})

test('without an excess, the chance is 1', () => {
  expect(logChanceOfExcess([stratum(1, 100, 10, 1000)])).toBe(0)
  expect([logChanceOfExcess([stratum(0, 100, 0, 1000)]), logChanceOfExcess([])]).toEqual([0, 0])
})

test('if all bad requests are on the candidate, the bound is the exact chance', () => {
  const [tenth, half] = [5 * Math.log(0.1), 2 * Math.log(0.5)]

  expect(logChanceOfExcess([stratum(5, 100, 0, 900)])).toBeCloseTo(tenth, 6)
  expect(logChanceOfExcess([stratum(5, 100, 0, 900), stratum(2, 50, 0, 50)])).toBeCloseTo(tenth + half, 6)
})

test('the bound is never below the true chance, and not far above it', () => {
  for (const share of [0.01, 0.1, 0.5, 0.9])
    for (const trials of [3, 10, 40, 150])
      for (let bad = 1; bad <= trials; bad += Math.ceil(trials / 7)) {
        const requests = 10_000 * share
        const bound = logChanceOfExcess([stratum(bad, requests, trials - bad, 10_000 - requests)])
        const truth = Math.log(tail(trials, share, bad))

        expect(bound).toBeGreaterThanOrEqual(Math.min(0, truth) - 1e-6)
        if (bad > trials * share) expect(bound).toBeLessThan(truth + Math.log(4 * Math.sqrt(trials)))
      }
})

test('equal strata give the result of one stratum with all requests', () => {
  const one = logChanceOfExcess([stratum(40, 200, 20, 600)])
  const two = logChanceOfExcess([stratum(20, 100, 10, 300), stratum(20, 100, 10, 300)])

  expect(two).toBeCloseTo(one, 6)
})

test('an operation of one side alone is no evidence', () => {
  expect(logChanceOfExcess([stratum(90, 100, 0, 0)])).toBeCloseTo(0, 6)
})
