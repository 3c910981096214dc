import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StepBudget, TooManyStepsError } from '../../../../src/features/contract/check/step-budget.ts'
import { createEqual, createMultipleOf, hasUniqueItems } from '../../../../src/features/contract/check/value-checks.ts'
import { schemaName, validatorsOf } from '../validators.ts'

test('every amount in cents is a multiple of 0.01', () => {
  const validators = validatorsOf({ type: 'array', items: { multipleOf: 0.01 } })
  const amounts = Array.from({ length: 5_000 }, (_, i) => i / 100)

  expect(validators.validate(schemaName, amounts, 'body', { bytes: 100_000 })).toEqual([])
})

// Decimals are divided: JSON Schema 2020-12 validation §6.2.1 knows no doubles.
test.each<[number, number, boolean]>([
  [19.99, 0.01, true],
  [-19.99, 0.01, true],
  [1_234_567_890.12, 0.01, true],
  [0, 0.01, true],
  [0, 1e300, true],
  [-0, 1e-300, true],
  [19.995, 0.01, false],
  [0.010000001, 0.01, false],
  [0.3, 0.1, true],
  [4.5, 1.5, true],
  [3e-8, 1e-8, true],
  [3.5e-8, 1e-8, false],
  [0.0075, 0.0001, true],
  [0.00751, 0.0001, false],
  [1e25, 5, true],
  [7, 2, false],
  [1e308, 0.5, true],
  [1e308, 1e-320, true],
  [1e308, 3e-320, false],
  [1e-320, 1e308, false],
  [34_634_060.34, 0.00000001, true],
  [690_762_673_015_256, 0.7, false],
  [2 ** 60, 1000, true],
  [Number.MAX_VALUE, Number.MIN_VALUE, true],
  [Number.POSITIVE_INFINITY, 0.5, false],
])('%d is a multiple of %d: %j', (value, divisor, expected) => {
  expect(createMultipleOf(divisor, new StepBudget(Number.POSITIVE_INFINITY))(value)).toBe(expected)
})

/** Divides the shortest decimal texts of two numbers as integers. */
const divideTexts = (value: number, divisor: number): boolean => {
  const [one, other] = [value, divisor].map((each) => {
    const [, digits = '', fraction = '', exponent = '0'] =
      /^-?(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(each)) ?? []
    return { digits: BigInt(digits + fraction), exponent: Number(exponent) - fraction.length }
  }) as [{ digits: bigint; exponent: number }, { digits: bigint; exponent: number }]
  const least = Math.min(one.exponent, other.exponent)
  const scaled = (each: typeof one): bigint => each.digits * 10n ** BigInt(each.exponent - least)
  return scaled(one) % scaled(other) === 0n
}

const decimal = (maxDigits: number, maxPower: number) =>
  fc
    .tuple(
      fc.integer({ min: 1, max: maxDigits }),
      fc.bigInt({ min: 0n, max: 10n ** 17n }),
      fc.integer({ min: -maxPower, max: 2 }),
    )
    .map(([digits, drawn, power]) => Number(`${drawn % 10n ** BigInt(digits)}e${power}`))
const divisors = fc.oneof(decimal(3, 10), decimal(17, 20), fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }))

test('integers of the shortest decimal texts say the same', () => {
  const seen = { true: 0, false: 0 }
  fc.assert(
    fc.property(
      divisors.filter((divisor) => divisor > 0),
      fc.oneof(decimal(17, 12), fc.double({ noNaN: true, noDefaultInfinity: true })),
      fc.bigInt({ min: 0n, max: 10n ** 15n }),
      (divisor, drawn, times) => {
        const isMultipleOf = createMultipleOf(divisor, new StepBudget(Number.POSITIVE_INFINITY))
        // Most numbers are multiples of no other one: the second is one, or next to one.
        const near = Number(times) * divisor
        for (const value of [drawn, near, -near, Number(near.toPrecision(15))].filter(Number.isFinite)) {
          const expected = divideTexts(value, divisor)
          seen[`${expected}`]++
          expect([value, divisor, isMultipleOf(value)]).toEqual([value, divisor, expected])
        }
      },
    ),
    { numRuns: 200, seed: 16 },
  )
  expect(Math.min(seen.true, seen.false)).toBeGreaterThan(60)
})

test('a number of many digits takes steps', () => {
  const steps = new StepBudget()
  const isMultipleOf = createMultipleOf(0.7, steps)
  steps.left = 200

  expect(isMultipleOf(1.4)).toBe(true)
  expect(steps.left).toBe(200)
  expect(isMultipleOf(690_762_673_015_256)).toBe(false)
  expect(steps.left).toBe(50)
  expect(() => isMultipleOf(690_762_673_015_256)).toThrow(TooManyStepsError)
})

describe('a budget compares', () => {
  const equal = (one: unknown, other: unknown): boolean => createEqual(new StepBudget(100))(one, other)

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
  ])('%j with %j: %j', (one, other, expected) => {
    expect(equal(one, other)).toBe(expected)
  })

  test('until it is used up', () => {
    expect(() => equal(Array.from({ length: 1000 }), Array.from({ length: 1000 }))).toThrow(TooManyStepsError)
  })
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
      expect(hasUniqueItems(items, new StepBudget(Number.POSITIVE_INFINITY))).toBe(isUnique)
    }),
    { numRuns: 500 },
  )
})

test('a long text takes more steps', () => {
  const steps = new StepBudget(1000)

  steps.takeCall('x'.repeat(2000))

  expect(steps.left).toBeLessThanOrEqual(500)
  expect(() => steps.takeCall('x'.repeat(4000))).toThrow(TooManyStepsError)
})
