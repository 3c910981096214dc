import { expect, test } from 'vitest'
import { createComparison } from '../../../../../src/features/candidate/observe/compare/compare-answers.ts'
import type { ComparisonRules } from '../../../../../src/features/candidate/observe/compare/comparison.ts'
import { answer } from './answer.ts'

const maxBytes = 1024 ** 2

/** A mebibyte of items. */
const fill = (item: (n: number) => string): string => {
  const items: string[] = []
  for (let bytes = 0; bytes < maxBytes - 1000; ) {
    const text = item(items.length)
    items.push(text)
    bytes += text.length + 1
  }
  return items.join()
}

const list = (item: (n: number) => string): string => `[${fill(item)}]`

interface HostilePair {
  readonly name: string
  readonly primary: string
  readonly candidate: string
  readonly rules?: Partial<ComparisonRules>
}

// Each of them would take minutes, or all memory, if what it aims at took the square of its length.
const pairs: readonly HostilePair[] = [
  { name: 'numbers that all differ', primary: list(() => '1'), candidate: list(() => '2') },
  {
    name: 'numbers as far apart as the tolerance',
    primary: list(() => '0.3'),
    candidate: list(() => '0.29'),
    rules: { numbers: { absolute: 0.01 } },
  },
  {
    name: 'one number of a million digits',
    primary: `[${'1'.repeat(maxBytes - 10)}]`,
    candidate: `[${'1'.repeat(maxBytes - 11)}2]`,
    rules: { numbers: { relative: 0.01 } },
  },
  {
    name: 'a number of a million zeros between two digits',
    primary: `[1${'0'.repeat(maxBytes - 20)}1]`,
    candidate: `[1.${'0'.repeat(maxBytes - 20)}1]`,
    rules: { numbers: { absolute: 1 } },
  },
  {
    name: 'numbers of four hundred digits',
    primary: list(() => `0.${'1'.repeat(390)}`),
    candidate: list(() => `0.${'1'.repeat(389)}2`),
    rules: { numbers: { relative: 1e-300 } },
  },
  {
    name: 'exponents beyond all bounds',
    primary: list(() => '1e999999999'),
    candidate: list(() => '1e-999999999'),
    rules: { numbers: { absolute: 1 } },
  },
  {
    name: 'members of which no two have one name',
    primary: `{${fill((n) => `"p${n}":1`)}}`,
    candidate: `{${fill((n) => `"c${n}":1`)}}`,
  },
  {
    name: 'members with names of which each looks like data',
    primary: `{${fill((n) => `"${n}-aA1-bB2-cC3":1`)}}`,
    candidate: `{${fill((n) => `"${n}-aA1-bB2-cC3":2`)}}`,
  },
  { name: 'long names', primary: `{"${'n'.repeat(500_000)}":1}`, candidate: `{"${'n'.repeat(500_000)}":2}` },
  {
    name: 'an unordered array in reverse',
    primary: list((n) => `{"id":${n}}`),
    candidate: `[${fill((n) => `{"id":${n}}`)
      .split(',')
      .toReversed()
      .join()}]`,
    rules: { arrays: { '': 'id' } },
  },
  {
    name: 'an unordered array of one key',
    primary: list(() => '{"id":1}'),
    candidate: list(() => '{"id": 1}'),
    rules: { arrays: { '': 'id' } },
  },
  {
    name: 'an unordered array of long keys',
    primary: list((n) => `{"id":"${'k'.repeat(10_000)}${n}"}`),
    candidate: list((n) => `{"id": "${'k'.repeat(10_000)}${n}"}`),
    rules: { arrays: { '': 'id' } },
  },
  {
    name: 'many rules that hold everywhere',
    primary: list(() => '[[[1]]]'),
    candidate: list(() => '[[[2]]]'),
    rules: { ignore: Array.from({ length: 100 }, (_, n) => `/*/${n % 2 === 0 ? '*' : '0'}/*/*/x${n}`) },
  },
  {
    name: 'a hundred levels',
    primary: `${'['.repeat(99)}${list(() => '1')}${']'.repeat(99)}`,
    candidate: `${'['.repeat(99)}${list(() => '2')}${']'.repeat(99)}`,
  },
  { name: 'objects for arrays', primary: list(() => '{}'), candidate: list(() => '[]') },
]

test.each(pairs)('the time of a comparison is bounded: $name', ({ primary, candidate, rules }) => {
  const compare = createComparison({ fields: [], ignore: [], numbers: null, arrays: {}, ...rules }, maxBytes)
  const startedAt = process.cpuUsage()
  const found = compare(answer(primary), answer(candidate))
  const { user } = process.cpuUsage(startedAt)

  // What is given up says so.
  expect(found.kind === 'compared' ? 'compared' : found.why).toMatch(/^(compared|too-complex)$/)
  expect(user / 1000).toBeLessThan(10_000)
})

test('a comparison that takes too many steps is given up', () => {
  const numbers = (text: string) => answer(list(() => text))
  const rules: ComparisonRules = { fields: [], ignore: [], numbers: { absolute: 0.01 }, arrays: {} }

  const found = createComparison(rules, maxBytes)(numbers('0.30'), numbers('0.29'))

  expect(found).toEqual({ kind: 'uncompared', why: 'too-complex' })
})
