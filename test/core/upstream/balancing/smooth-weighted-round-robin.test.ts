import { expect, test } from 'vitest'
import { smoothWeightedRoundRobin } from '../../../../src/core/upstream/balancing/balancers.ts'
import { type FakeCandidate, fakes, tally } from './fake-candidates.ts'

/** Selects so many times among members of these weights and returns which, by their place. */
const picks = (weights: readonly number[], count: number): number[] => {
  const members = fakes(weights)
  const pick = smoothWeightedRoundRobin<FakeCandidate>()
  return Array.from({ length: count }, (_, i) => members.indexOf(pick(members, i)))
}

test('equal weights take turns, a thousand rounds on as well', () => {
  expect(picks([100, 100, 100], 3_000)).toEqual(Array.from({ length: 3_000 }, (_, i) => i % 3))
})

test('weights share the traffic in their proportion, evenly spread', () => {
  expect(picks([5, 1, 1], 14)).toEqual([0, 0, 1, 0, 2, 0, 0, 0, 0, 1, 0, 2, 0, 0])
})

test.each([[[100, 10]], [[1, 10_000]], [[3, 7, 11]]])('the proportion of %j is exact over one round', (weights) => {
  const members = fakes(weights)
  const pick = smoothWeightedRoundRobin<FakeCandidate>()
  const total = weights.reduce((sum, weight) => sum + weight, 0)

  const counts = tally(pick, members, total * 2)

  expect(counts).toEqual(weights.map((weight) => weight * 2))
})

test('load changes nothing', () => {
  const members = fakes([100, 100])
  for (const [i, member] of members.entries()) member.inFlight = i * 1_000

  const counts = tally(smoothWeightedRoundRobin<FakeCandidate>(), members, 100)

  expect(counts).toEqual([50, 50])
})

test('one that was away has its next turn as if it had not been', () => {
  const members = fakes([100, 100, 100])
  const pick = smoothWeightedRoundRobin<FakeCandidate>()
  tally(pick, members, 30)
  tally(pick, members.slice(1), 1_000)

  const next = Array.from({ length: 6 }, (_, i) => members.indexOf(pick(members, i)))

  expect(next).toEqual([0, 1, 2, 0, 1, 2])
})

test('a weight that grows step by step is followed at every step', () => {
  const members = fakes([100, 10])
  const [, slow] = members
  const pick = smoothWeightedRoundRobin<FakeCandidate>()
  const counts: number[] = []

  for (let weight = 10; weight <= 100; weight += 10) {
    if (slow !== undefined) slow.weight = weight
    counts.push(tally(pick, members, 110)[1] ?? 0)
  }

  for (const [i, count] of counts.entries()) {
    const weight = 10 * (i + 1)
    expect(Math.abs(count - (110 * weight) / (100 + weight))).toBeLessThanOrEqual(1)
  }
})
