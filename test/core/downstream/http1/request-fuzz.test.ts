import { expect, test } from 'vitest'
import { stricter, wider } from './fuzz/differences.ts'
import { compare, judgeAll } from './fuzz/judge.ts'

// llhttp is the oracle. More of them: node tools/lab/fuzz-requests.ts
const mutations = 2_000

test(`of ${mutations} mutated requests each is read as llhttp reads it, or differs in a way that is known`, async () => {
  const outcomes: Record<string, number> = {}
  await judgeAll(0, mutations, (outcome) => {
    // It names the number of the mutation, from which it is made.
    if (outcome instanceof Error) throw outcome
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  })

  // They are neither so gentle that nothing is rejected, nor so rough that nothing is read.
  expect(outcomes['the same']).toBeGreaterThan(mutations / 4)
  expect(outcomes['rejected by both']).toBeGreaterThan(mutations / 4)
})

test.each(stricter)('only llhttp accepts %s', async (_, says, example) => {
  expect(await compare(Buffer.from(example, 'latin1'))).toBe(`only llhttp: ${says}`)
})

test.each(wider)('llhttp alone rejects %s, or takes it for something else', async (_, example) => {
  expect(await compare(Buffer.from(example, 'latin1'))).toBe('only the gateway')
})
