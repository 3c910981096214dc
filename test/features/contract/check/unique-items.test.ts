import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StepBudget } from '../../../../src/features/contract/check/step-budget.ts'
import { hasUniqueItems } from '../../../../src/features/contract/check/value-checks.ts'

test('finds the items that are equal, as comparing each with each does', () => {
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
    { numRuns: 2000 },
  )
})
