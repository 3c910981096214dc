import { expect, test } from 'vitest'
import { isMultipleOf } from '../../src/contract/multiple-of.ts'
import { schemaName, validatorsOf } from '../helpers/validators.ts'

test('every amount in cents is a multiple of 0.01', () => {
  const validators = validatorsOf({ type: 'array', items: { multipleOf: 0.01 } })
  const amounts = Array.from({ length: 20_000 }, (_, i) => i / 100)

  expect(validators.validate(schemaName, amounts, 'body', { bytes: 100_000 })).toEqual([])
})

test.each<[number, number, boolean]>([
  [19.99, 0.01, true],
  [-19.99, 0.01, true],
  [1_234_567_890.12, 0.01, true],
  [0, 0.01, true],
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
])('%d is a multiple of %d: %j', (value, divisor, expected) => {
  expect(isMultipleOf(value, divisor)).toBe(expected)
})
