import { expect, test } from 'vitest'
import { StepBudget, TooManyStepsError } from '../../../../src/features/contract/check/step-budget.ts'

test.each<[string, (steps: StepBudget, length: number) => void]>([
  ['a check of a text', (steps, length) => steps.takeCall('x'.repeat(4 * length))],
  ['a pattern of RE2', (steps, length) => steps.takePattern(length, 1)],
  ['a pattern that JavaScript runs', (steps, length) => steps.takeNativePattern(length)],
])('%s takes more steps, the longer the text is', (_, take) => {
  const steps = new StepBudget()

  steps.left = 1000
  take(steps, 500)

  expect(steps.left).toBeLessThanOrEqual(500)
  expect(() => take(steps, 1000)).toThrow(TooManyStepsError)
})
