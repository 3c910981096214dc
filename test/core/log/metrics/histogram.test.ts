import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bucketBoundsMs, Histogram, histogramDelta, quantile } from '../../../../src/core/log/metrics/histogram.ts'
import { sumReports } from '../../../../src/core/log/sum-reports.ts'

const counted = (durations: readonly number[]) => {
  const histogram = new Histogram()
  for (const ms of durations) histogram.observe(ms)
  return histogram.report
}

const durations = fc.array(fc.double({ min: 0, max: 79_000, noNaN: true }), { minLength: 1, maxLength: 200 })

test('bounds rise, and every duration falls under the first that is not below it', () => {
  expect([...bucketBoundsMs].sort((a, b) => a - b)).toEqual(bucketBoundsMs)
  fc.assert(
    fc.property(fc.double({ min: 0, max: 100_000, noNaN: true }), (ms) => {
      const at = counted([ms]).counts.indexOf(1)

      expect(ms <= (bucketBoundsMs[at] ?? Number.POSITIVE_INFINITY)).toBe(true)
      expect(at === 0 || ms > (bucketBoundsMs[at - 1] as number)).toBe(true)
    }),
  )
})

test('a bound belongs to what is below it', () => {
  for (const [i, bound] of bucketBoundsMs.entries()) expect(counted([bound]).counts[i]).toBe(1)
})

test('what several have counted adds up to what one would have counted', () => {
  fc.assert(
    fc.property(durations, durations, (some, others) => {
      const both = sumReports(counted([]), [counted(some), counted(others)])
      const one = counted([...some, ...others])

      expect(both.counts).toEqual(one.counts)
      expect(both.sumMs).toBeCloseTo(one.sumMs, 3)
    }),
  )
})

test('what came since is what was counted in between', () => {
  fc.assert(
    fc.property(durations, durations, (before, after) => {
      const between = histogramDelta(counted([...before, ...after]), counted(before))

      expect(between.counts).toEqual(counted(after).counts)
    }),
  )
})

describe('a quantile', () => {
  test('of nothing is not known', () => {
    expect(quantile(counted([]), 0.5)).toBe(null)
  })

  test('lies between the same two bounds as the duration that has that rank', () => {
    fc.assert(
      fc.property(durations, fc.constantFrom(0.5, 0.9, 0.99), (all, share) => {
        const sorted = all.toSorted((a, b) => a - b)
        const exact = sorted[Math.ceil(share * all.length) - 1] as number
        const at = bucketBoundsMs.findIndex((bound) => exact <= bound)

        const read = quantile(counted(all), share) as number

        expect(read).toBeLessThanOrEqual(bucketBoundsMs[at] as number)
        expect(read).toBeGreaterThanOrEqual(at === 0 ? 0 : (bucketBoundsMs[at - 1] as number))
      }),
    )
  })

  test('is no more than the upper bound by a rounding of floats', () => {
    const { counts } = counted([])
    const above: string[] = []
    for (const [i, bound] of bucketBoundsMs.entries())
      for (let count = 1; count <= 30; count++)
        for (const share of [0.5, 0.9, 0.99, 1]) {
          const read = quantile({ counts: counts.with(i, count), sumMs: 0 }, share) as number
          if (read > bound) above.push(`${share} of ${count} up to ${bound}: ${read}`)
        }

    expect(above).toEqual([])
  })

  test('above the last bound is given as that bound', () => {
    expect(quantile(counted([1_000_000]), 0.5)).toBe(bucketBoundsMs.at(-1))
  })
})
