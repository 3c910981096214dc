import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hiddenContract } from './hidden-schema.ts'
import { learnHiddenContract } from './learn-hidden-contract.ts'

test('a draft accepts what it was learnt from, and rejects a wrong type or a missing member', {
  timeout: 120_000,
}, () => {
  let mutants = 0
  let accepted = 0
  fc.assert(
    fc.property(hiddenContract, fc.integer(), fc.integer({ min: 1, max: 3 }), (contract, seed, learners) => {
      const learnt = learnHiddenContract(contract, { messages: 500, seed, learners })

      expect(learnt.rejectedMessages).toEqual([])
      mutants += learnt.mutants
      accepted += learnt.acceptedMutants.length
    }),
    // Drawn once: the drill draws anew each time, and more.
    { numRuns: 6, seed: 22 },
  )

  expect(mutants).toBe(6 * 500)
  expect(accepted / mutants).toBeLessThan(0.05)
})
