import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maxReuseMarginMs, reusableMs } from '../../../../src/core/upstream/http1/connector.ts'

test.each([
  [400, 300],
  [1500, 1125],
  [2000, 1500],
  [5000, 4500],
  [75_000, 74_500],
  [0, 0],
])('of %i ms a connection is used for %i', (closedAfter, used) => {
  expect(reusableMs(closedAfter)).toBe(used)
})

test('a connection is used for three quarters of its time at least, always ends before its time, and by half a second at most', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 86_400_000 }), (closedAfter) => {
      const used = reusableMs(closedAfter)
      expect(used).toBeLessThan(closedAfter)
      expect(used).toBeGreaterThanOrEqual(Math.max(closedAfter * 0.75, closedAfter - maxReuseMarginMs))
    }),
  )
})
