import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StepBudget, TooManyStepsError } from '../../../../src/features/contract/check/step-budget.ts'
import { createEqual, createMultipleOf, hasUniqueItems } from '../../../../src/features/contract/check/value-checks.ts'
import { rulesOf } from '../validators.ts'

const endless = () => new StepBudget(Number.POSITIVE_INFINITY)

test('every amount in cents is a multiple of 0.01', () => {
  const amounts = Array.from({ length: 5_000 }, (_, i) => i / 100)

  expect(rulesOf({ type: 'array', items: { multipleOf: 0.01 } })(amounts, 100_000)).toEqual([])
})

// Decimals are divided: JSON Schema 2020-12 validation §6.2.1 knows no doubles.
test.each<[divisor: number, multiples: readonly number[], others: readonly number[]]>([
  [0.01, [19.99, -19.99, 1_234_567_890.12, 0], [19.995, 0.010000001]],
  [1e300, [0], []],
  [1e-300, [-0], []],
  [0.1, [0.3], []],
  [1.5, [4.5], []],
  [1e-8, [3e-8, 34_634_060.34], [3.5e-8]],
  [0.0001, [0.0075], [0.00751]],
  [5, [1e25], []],
  [2, [], [7]],
  [0.5, [1e308], [Number.POSITIVE_INFINITY]],
  [1e-320, [1e308], []],
  [3e-320, [], [1e308]],
  [1e308, [], [1e-320]],
  [0.7, [], [690_762_673_015_256]],
  [1000, [2 ** 60], []],
  [Number.MIN_VALUE, [Number.MAX_VALUE], []],
])('the multiples of %d are %j, and not %j', (divisor, multiples, others) => {
  const isMultipleOf = createMultipleOf(divisor, endless())

  expect([multiples, others].map((values) => values.map(isMultipleOf))).toEqual([
    multiples.map(() => true),
    others.map(() => false),
  ])
})

test('a number of many digits takes steps', () => {
  const steps = new StepBudget()
  const isMultipleOf = createMultipleOf(0.7, steps)
  steps.left = 200

  expect([isMultipleOf(1.4), steps.left]).toEqual([true, 200])
  expect([isMultipleOf(690_762_673_015_256), steps.left]).toEqual([false, 50])
  expect(() => isMultipleOf(690_762_673_015_256)).toThrow(TooManyStepsError)
})

test.each([
  [1, 1, true],
  [0, -0, true],
  ['a', 'b', false],
  [null, {}, false],
  [[], {}, false],
  [{ a: 1, b: [2, null] }, { b: [2, null], a: 1 }, true],
  [{ a: 1 }, { b: 1 }, false],
  [{ a: 1 }, { a: 1, b: 1 }, false],
  [JSON.parse('{"__proto__":1}'), { constructor: 1 }, false],
  [JSON.parse('{"__proto__":1}'), JSON.parse('{"__proto__":1}'), true],
])('a budget compares %j with %j: %j', (one, other, expected) => {
  expect(createEqual(new StepBudget(100))(one, other)).toBe(expected)
})

test('a budget compares until it is used up', () => {
  const long = () => Array.from({ length: 1000 })

  expect(() => createEqual(new StepBudget(100))(long(), long())).toThrow(TooManyStepsError)
})

test('the items that are equal are found, as comparing each with each does', () => {
  const item = fc.oneof(
    fc.constantFrom(1, '1', true, 'true', null, 'null', 0, '', [], {}, '[]', '{}', { a: 1, b: 2 }, { b: 2, a: 1 }),
    fc.jsonValue({ maxDepth: 2 }),
  )

  fc.assert(
    fc.property(fc.array(item, { maxLength: 6 }), (generated) => {
      const items: unknown[] = JSON.parse(JSON.stringify(generated))
      const isUnique = items.every((one, i) => items.slice(i + 1).every((other) => !isDeepStrictEqual(one, other)))
      expect(hasUniqueItems(items, endless())).toBe(isUnique)
    }),
    { numRuns: 300 },
  )
})

test('a long text takes more steps', () => {
  const steps = new StepBudget(1000)
  steps.takeCall('x'.repeat(2000))

  expect(steps.left).toBeLessThanOrEqual(500)
  expect(() => steps.takeCall('x'.repeat(4000))).toThrow(TooManyStepsError)
})
