import fc from 'fast-check'
import { expect, test } from 'vitest'
import { describeMagnitudes, magnitudeOf } from '../../../../src/features/contract-learning/learn/value-summaries.ts'

test.each([
  [[0], { from: 0, below: 1 }],
  [[0.5, 7], { from: 0, below: 10 }],
  [[1, 9.99], { from: 1, below: 10 }],
  [[10, 999], { from: 10, below: 1000 }],
  [[-10], { above: -100, to: -10 }],
  [[-0.5], { above: -1, to: -0 }],
  [[-3, 250], { above: -10, below: 1000 }],
  [[1e300], { from: 1e15 }],
  [[-1e300, 0], { below: 1 }],
])('%j lies in %j', (values, range) => {
  expect(describe(values)).toEqual(range)
})

test('every number lies in its range', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true }), fc.double({ noNaN: true }), (...values) => {
      const { above = -Infinity, from = -Infinity, to = Infinity, below = Infinity } = describe(values)

      for (const value of values) {
        expect(value >= from && value <= to).toBe(true)
        expect((above === -Infinity || value > above) && (below === Infinity || value < below)).toBe(true)
      }
    }),
  )
})

const describe = (values: readonly number[]) => {
  const of = (some: readonly number[]) => some.map((value) => magnitudeOf(Math.abs(value)))
  const join = (bits: readonly number[]) => bits.reduce((all, bit) => all | bit, 0)
  return describeMagnitudes(
    join(of(values.filter((value) => value >= 0))),
    join(of(values.filter((value) => value < 0))),
  )
}
