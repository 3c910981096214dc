import { expect, test } from 'vitest'
import type { LearningMode } from '../../../src/features/contract-learning/primary.ts'
import { type ContractLearning, continueLearning } from '../../../src/features/contract-learning/runtime.ts'
import { testConfig } from '../../helpers/gateway.ts'

const command: LearningMode = { enums: true, setAt: 1, until: null }

/** Goes on with what the file says; without a command, by the file. */
const learn = (enums: boolean, before: ContractLearning | null, mode?: LearningMode): ContractLearning | null =>
  continueLearning(
    mode ?? { enums, setAt: null, until: null },
    testConfig({ contract: { learn: true, enums } }),
    before,
    'key',
  )

test('the draft of a command stays when the command ends, whatever contract.enums is', () => {
  for (const enums of [true, false]) {
    const commanded = learn(enums, null, command)

    expect(learn(enums, commanded)?.learner).toBe(commanded?.learner)
  }
})

test('an edit of contract.enums restarts learning, also at the end of a command', () => {
  const byFile = learn(true, null)
  const commanded = learn(true, byFile, command)
  const edited = learn(false, commanded, command)

  expect(learn(false, byFile)?.learner).not.toBe(byFile?.learner)
  expect(edited?.learner).toBe(commanded?.learner)
  expect(learn(false, edited)?.learner).not.toBe(commanded?.learner)
  expect(learn(true, edited)?.learner).toBe(commanded?.learner)
})
