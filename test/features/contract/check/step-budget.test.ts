import { expect, test } from 'vitest'
import { StepBudget, TooManyStepsError } from '../../../../src/features/contract/check/step-budget.ts'

test('a long text takes more steps', () => {
  const steps = new StepBudget(1000)

  steps.takeCall('x'.repeat(2000))

  expect(steps.left).toBeLessThanOrEqual(500)
  expect(() => steps.takeCall('x'.repeat(4000))).toThrow(TooManyStepsError)
})
