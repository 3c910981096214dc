import { expect, test } from 'vitest'
import { stricter, wider } from './fuzz/differences.ts'
import { compare, judge } from './fuzz/judge.ts'

// llhttp is the oracle. More of them: node tools/lab/fuzz-requests.ts
const mutations = 2_000

test(`each of ${mutations} mutated requests is read as llhttp reads it, or differs in a known way`, () => {
  const outcomes = Array.from({ length: mutations }, (_, n) => judge(n))

  // The mutations cause both accepted and rejected requests.
  for (const outcome of ['the same', 'rejected by both'])
    expect(outcomes.filter((each) => each === outcome).length).toBeGreaterThan(mutations / 4)
})

test.each(stricter)('only llhttp accepts %s', (_, says, example) => {
  expect(compare(Buffer.from(example, 'latin1'))).toBe(`only llhttp: ${says}`)
})

test.each(wider)('only llhttp rejects %s, or reads it as something else', (_, example) => {
  expect(compare(Buffer.from(example, 'latin1'))).toBe('only the gateway')
})
