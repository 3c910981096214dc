import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createComparison } from '../../../../../src/features/candidate/observe/compare/compare-answers.ts'
import type { Comparison, ComparisonRules } from '../../../../../src/features/candidate/observe/compare/comparison.ts'
import { answer } from './answer.ts'
import { documentPairs } from './document-pairs.ts'

const noRules: ComparisonRules = { fields: [], ignore: [], numbers: null, arrays: {} }
const maxBytes = 1024 ** 2

const compareTexts = (primary: string, candidate: string, rules: Partial<ComparisonRules> = {}): Comparison =>
  createComparison({ ...noRules, ...rules }, maxBytes)(answer(primary), answer(candidate))

const describeDifferences = (comparison: Comparison): readonly string[] =>
  comparison.kind === 'compared'
    ? comparison.differences.map(
        ({ kind, pointer, primary, candidate }) => `${kind} ${pointer}: ${primary} → ${candidate}`,
      )
    : [`uncompared: ${comparison.why}`]

describe('two documents differ in', () => {
  test.each(documentPairs)('$name', ({ primary, candidate, rules, differences }) => {
    const found = compareTexts(primary, candidate, rules)

    expect(describeDifferences(found)).toEqual(differences)
  })

  test('there are forty pairs, and each has a name of its own', () => {
    expect(documentPairs.length).toBeGreaterThanOrEqual(40)
    expect(new Set(documentPairs.map(({ name }) => name)).size).toBe(documentPairs.length)
  })
})

test('a difference in one field of 10,000 is found', () => {
  const fields = Array.from({ length: 10_000 }, (_, n) => [`field${n % 100}x${Math.floor(n / 100)}`, n] as const)
  const changed = fields.map(([name, n]) => [name, n === 7342 ? -1 : n] as const)

  const found = compareTexts(JSON.stringify(Object.fromEntries(fields)), JSON.stringify(Object.fromEntries(changed)))

  expect(describeDifferences(found)).toEqual(['value /field42x73: 7342 → -1'])
})

describe('for every document', () => {
  // What JSON has, with keys of all kinds, and numbers that doubles hold and do not hold.
  const json = fc.jsonValue({ maxDepth: 5, depthSize: 'medium' })

  test('it is equal to itself, with its members in another order and its numbers written otherwise', () => {
    fc.assert(
      fc.property(json, fc.integer(), (value, seed) => {
        const found = compareTexts(JSON.stringify(value), rewrite(value, seed))

        expect(describeDifferences(found)).toEqual([])
      }),
      { numRuns: 1000 },
    )
  })

  test('a number of any length is equal to itself written otherwise, and to no other', () => {
    const digits = fc.bigInt({ min: 1n, max: 10n ** 40n })
    fc.assert(
      fc.property(digits, fc.integer({ min: -400, max: 400 }), fc.nat(50), (number, exponent, zeros) => {
        const text = `{"n":${number}e${exponent}}`
        const shifted = `{"n":${number}${'0'.repeat(zeros)}E${exponent - zeros}}`
        const other = `{"n":${number + 1n}e${exponent}}`

        expect(describeDifferences(compareTexts(text, shifted))).toEqual([])
        expect(describeDifferences(compareTexts(text, other))).toHaveLength(1)
      }),
    )
  })

  test('a tolerance is exact, as fractions of whole numbers are', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), fc.integer({ min: 0, max: 5000 }), (primary, candidate, thousandths) => {
        const found = compareTexts(`[${primary / 100}]`, `[${candidate / 100}]`, {
          numbers: { relative: thousandths / 1000 },
        })

        const isWithin = Math.abs(primary - candidate) * 1000 <= Math.abs(primary) * thousandths
        expect(describeDifferences(found)).toHaveLength(isWithin ? 0 : 1)
      }),
    )
  })

  test('one value of another kind in it is found, and nothing else', () => {
    fc.assert(
      fc.property(fc.array(json, { minLength: 1 }), fc.nat(), (values, at) => {
        const changed = values.with(at % values.length, { planted: 'defect' })

        const found = compareTexts(JSON.stringify({ values }), JSON.stringify({ values: changed }))

        expect(describeDifferences(found).length).toBeGreaterThan(0)
        expect(describeDifferences(found).every((text) => / \/values\/\*/.test(text))).toBe(true)
      }),
    )
  })
})

/** Writes a document in another way: its members in reverse, blanks, numbers with a fraction or an exponent. */
const rewrite = (value: unknown, seed: number): string => {
  if (typeof value === 'number') return rewriteNumber(value, seed)
  if (Array.isArray(value)) return `[ ${value.map((item, n) => rewrite(item, seed + n)).join(' ,\n')} ]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member], n) => `${escapeAll(name)}: ${rewrite(member, seed + n)}`)
  return `{\t${members.toReversed().join(',')}}`
}

const rewriteNumber = (value: number, seed: number): string => {
  const text = JSON.stringify(value)
  const [mantissa = '', exponent] = text.split('e')
  switch (Math.abs(seed) % 4) {
    case 0:
      return text
    case 1:
      return exponent === undefined ? `${text.includes('.') ? `${text}00` : `${text}.0`}` : `${mantissa}E${exponent}`
    case 2:
      return exponent === undefined ? `${text}e0` : text
    default:
      return exponent === undefined && !text.includes('.') && value !== 0 ? `${text}00e-2` : text
  }
}

const escapeAll = (text: string): string =>
  `"${[...Array(text.length).keys()].map((n) => `\\u${text.charCodeAt(n).toString(16).padStart(4, '0')}`).join('')}"`
