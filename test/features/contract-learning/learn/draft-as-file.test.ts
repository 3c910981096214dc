/** What was learned is a file that the gateway takes: whatever passed, the draft loads without a problem. */
import fc from 'fast-check'
import { expect } from 'vitest'
import { formatYaml } from '../../../../src/core/config/yaml/yaml-document.ts'
import { checkRequestHead } from '../../../../src/features/contract/check/check-message.ts'
import { createValidators } from '../../../../src/features/contract/check/validators.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { renderDraft } from '../../../../src/features/contract-learning/learn/draft.ts'
import { mergeLearned } from '../../../../src/features/contract-learning/learn/learned-contract.ts'
import { createLearner } from '../../../../src/features/contract-learning/learn/learner.ts'
import { allOperations } from '../../../../src/operations.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { runs, test, testAndDrill } from '../../../helpers/speed.ts'
import { hiddenContract } from './hidden-schema.ts'
import { learnerOptions, learnHiddenContract, requestOf } from './learn-hidden-contract.ts'

/** Loads a draft as a contract file, in both formats, and lists what is wrong with it. */
const problemsOf = (draft: unknown): readonly unknown[] => {
  const files = { 'contract.yaml': formatYaml(draft), 'contract.json': JSON.stringify(draft) }
  const folder = folderWith(files)
  return Object.keys(files).flatMap((file) => loadContract(folder, file).problems)
}

testAndDrill('a draft of the traffic of any interface loads', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(hiddenContract, fc.integer(), (contract, seed) => {
      expect(problemsOf(learnHiddenContract(contract, { messages: 60, seed, learners: 2 }).draft)).toEqual([])
    }),
    { numRuns: runs(10), endOnFailure: true },
  )
})

const message = fc.record({
  operation: fc.constantFrom(...allOperations.map(({ id }) => id)),
  query: fc.array(fc.tuple(fc.string(), fc.string())).map((pairs) => `?${new URLSearchParams(pairs)}`),
  contentType: fc.constantFrom(null, '', 'application/json', 'text/csv', 'application/vnd.lender+json', 'x'),
  fields: fc.constantFrom([], ['X-Branch', '1'], ['Idempotency-Key', 'k'], ['X-Branch', '1', 'Prefer', 'p']),
  body: fc.oneof(fc.constant(undefined), fc.jsonValue({ depthSize: 'medium' })),
  status: fc.integer({ min: 200, max: 999 }),
})

testAndDrill('a draft of random messages loads', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(fc.array(message, { minLength: 1, maxLength: 6 }), fc.boolean(), (messages, enums) => {
      const learner = createLearner({ ...learnerOptions, enums })
      // Each ten times: what is seen often is what the draft tells.
      for (let i = 0; i < 10; i++)
        for (const { operation, status, ...seen } of messages) {
          learner.observeRequest(operation, seen)
          learner.observeResponse(operation, { status, ...seen })
        }

      expect(problemsOf(renderDraft(mergeLearned([learner.report, learner.report])))).toEqual([])
    }),
    { numRuns: runs(30), endOnFailure: true },
  )
})

test('a draft takes the query and the fields that it was learned from, also those that came twice', () => {
  const fields = ['Prefer', 'wait=5', 'prefer', 'respond-async', 'X-Branch', '1', 'X_Branch', '2', 'X-Once', 'a, b']
  const query = '?limit=5&active=true&from=2026-01-01'
  const learner = createLearner(learnerOptions)
  for (let i = 0; i < 10; i++)
    learner.observeRequest('market.insights', requestOf({ query, fields, contentType: null }))
  const folder = folderWith({ 'contract.json': JSON.stringify(renderDraft(learner.report)) })

  const { contract } = loadContract(folder, 'contract.json')

  const own = contract?.operations['market.insights']?.request
  if (contract === null || own === undefined) throw new Error('the draft is no contract')
  const parameters = own.parameters.map(({ name, types }) => `${name} ${types}`)
  const expected = ['active boolean', 'from string', 'limit integer', 'prefer array', 'x-branch array', 'x-once string']
  expect(parameters).toEqual(expected)
  const head = { query, fields, hasBody: false }
  expect(checkRequestHead(own, createValidators(contract), head).violations).toEqual([])
})

test('a draft accepts what it was learned from, and rejects a wrong type or a missing member', {
  timeout: 120_000,
}, () => {
  let [mutants, accepted] = [0, 0]
  fc.assert(
    fc.property(hiddenContract, fc.integer(), fc.integer({ min: 1, max: 3 }), (contract, seed, learners) => {
      const learned = learnHiddenContract(contract, { messages: 300, seed, learners })

      expect(learned.rejectedMessages).toEqual([])
      mutants += learned.mutants
      accepted += learned.acceptedMutants.length
    }),
    // Drawn once: the drill draws again each time, and more.
    { numRuns: 2, seed: 22 },
  )

  expect(mutants).toBe(2 * 300)
  expect(accepted / mutants).toBeLessThan(0.05)
})
