import { expect, test } from 'vitest'
import { GatewayError } from '../../src/errors.ts'
import { balance } from '../../src/upstream/balance.ts'
import type { Endpoint } from '../../src/upstream/endpoint.ts'

/** Picks `count` times among endpoints of these weights and tells which, by index. */
const picks = (weights: readonly number[], count: number): number[] => {
  const endpoints = weights.map((_, index) => ({ index }) as unknown as Endpoint)
  const pick = balance(weights.map((weight, index) => ({ weight, endpoint: endpoints[index] as Endpoint })))
  return Array.from({ length: count }, () => endpoints.indexOf(pick()))
}

test('equal weights take turns', () => {
  expect(picks([100, 100, 100], 6)).toEqual([0, 1, 2, 0, 1, 2])
})

test('weights share the traffic in their proportion, evenly spread', () => {
  expect(picks([5, 1, 1], 7)).toEqual([0, 0, 1, 0, 2, 0, 0])
})

test.each([[[100, 10]], [[1, 10_000]], [[3, 7, 11]]])('the proportion of %j is exact over one round', (weights) => {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const got = picks(weights, total * 2)

  expect(weights.map((_, i) => got.filter((pick) => pick === i).length)).toEqual(weights.map((weight) => weight * 2))
})

test('weight 0 gets nothing, wherever it stands', () => {
  expect(picks([0, 1, 0, 1], 4)).toEqual([1, 3, 1, 3])
})

test('no endpoint with a weight is no-healthy-endpoint', () => {
  expect(() => picks([0, 0], 1)).toThrow(expect.objectContaining({ kind: 'no-healthy-endpoint' }))
  expect(() => picks([], 1)).toThrow(GatewayError)
})
