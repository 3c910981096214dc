import { expect, test } from 'vitest'
import { stricter, wider } from './fuzz/differences.ts'
import { compare, judgeAll } from './fuzz/judge.ts'

// llhttp is the oracle. More of them: node tools/lab/fuzz-requests.ts
const share = 5_000

test.each([0, 1, 2, 3])(
  `of ${share} mutated requests each is read as llhttp reads it, or differs in a way that is known (part %i of 4)`,
  async (part) => {
    const outcomes: Record<string, number> = {}
    await judgeAll(part * share, share, (outcome) => {
      // It names the number of the mutation, from which it is made.
      if (outcome instanceof Error) throw outcome
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    })

    // They are neither so gentle that nothing is rejected, nor so rough that nothing is read.
    expect(outcomes['the same']).toBeGreaterThan(share / 4)
    expect(outcomes['rejected by both']).toBeGreaterThan(share / 4)
  },
)

test.each(stricter)('only llhttp accepts $name ($why)', async ({ name, example }) => {
  expect(await compare(Buffer.from(example, 'latin1'))).toBe(`only llhttp: ${name}`)
})

test.each(wider)('llhttp alone rejects $name, or takes it for something else ($why)', async ({ name, example }) => {
  expect(await compare(Buffer.from(example, 'latin1'))).toBe(`only the gateway: ${name}`)
})
