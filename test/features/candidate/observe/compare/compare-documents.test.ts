import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createComparison } from '../../../../../src/features/candidate/observe/compare/compare-answers.ts'
import type { Comparison, ComparisonRules } from '../../../../../src/features/candidate/observe/compare/comparison.ts'
import { answer } from './answer.ts'

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

/** Two documents, and what they differ in. */
interface DocumentPair {
  readonly name: string
  readonly primary: string
  readonly candidate: string
  readonly rules?: Partial<ComparisonRules>
  /** `kind pointer: primary → candidate`. */
  readonly differences: readonly string[]
}

/** Pairs of documents with the differences that a comparison has to find. */
const documentPairs: readonly DocumentPair[] = [
  { name: 'another order of members', primary: '{"a":1,"b":[2]}', candidate: '{"b":[2],"a":1}', differences: [] },
  { name: 'other blanks', primary: '{"a":1}', candidate: '\r\n{\t"a" : 1 }', differences: [] },
  { name: 'a number written otherwise', primary: '[1,100,0.5,0]', candidate: '[1.0,1e2,5E-1,-0.0]', differences: [] },
  {
    name: 'a string escaped otherwise',
    primary: '["Zürich/é"]',
    candidate: '["Z\\u00fcrich\\/\\u00e9"]',
    differences: [],
  },
  {
    name: 'another string',
    primary: '{"grade":"A"}',
    candidate: '{"grade":"B"}',
    differences: ['value /grade: A → B'],
  },
  { name: 'another boolean', primary: '[true]', candidate: '[false]', differences: ['value /*: true → false'] },
  {
    name: 'a number that became a string',
    primary: '{"n":1}',
    candidate: '{"n":"1"}',
    differences: ['type /n: number → string'],
  },
  {
    name: 'numbers beyond an amount',
    primary: '{"a":0.3,"b":0}',
    candidate: '{"a":0.2899999,"b":0.0100001}',
    rules: { numbers: { absolute: 0.01 } },
    differences: ['value /a: 0.3 → 0.2899999', 'value /b: 0 → 0.0100001'],
  },
  { name: 'another number', primary: '{"n":1}', candidate: '{"n":2}', differences: ['value /n: 1 → 2'] },
  { name: 'null for a value', primary: '{"n":1}', candidate: '{"n":null}', differences: ['type /n: number → null'] },
  {
    name: 'an array for an object',
    primary: '{"n":{}}',
    candidate: '{"n":[]}',
    differences: ['type /n: object → array'],
  },
  {
    name: 'a member that is gone',
    primary: '{"a":1,"b":2}',
    candidate: '{"a":1}',
    differences: ['missing /b: number → nothing'],
  },
  {
    name: 'a member that is new',
    primary: '{"a":1}',
    candidate: '{"a":1,"b":null}',
    differences: ['added /b: nothing → null'],
  },
  {
    name: 'the same difference in each item of an array',
    primary: '[{"p":1},{"p":2},{"p":3}]',
    candidate: '[{"p":2},{"p":3},{"p":4}]',
    differences: ['value /*/p: 1 → 2'],
  },
  {
    name: 'a shorter array',
    primary: '{"items":[1,2,3]}',
    candidate: '{"items":[1,2]}',
    differences: ['length /items: 3 → 2'],
  },
  { name: 'an array in another order', primary: '[1,2]', candidate: '[2,1]', differences: ['value /*: 1 → 2'] },
  {
    name: 'a name with characters that a pointer escapes',
    primary: '{"a/b":1,"m~n":1}',
    candidate: '{"a/b":2,"m~n":2}',
    differences: ['value /*: 1 → 2'],
  },
  {
    name: 'names that are data',
    primary: '{"byVin":{"WVWZZZ1KZAW000001":{"grade":"A"}}}',
    candidate: '{"byVin":{"WVWZZZ1KZAW000001":{"grade":"B"}}}',
    differences: ['value /byVin/*/grade: A → B'],
  },
  {
    name: 'members that every object inherits',
    primary: '{"__proto__":{"a":1},"toString":1}',
    candidate: '{"__proto__":{"a":2}}',
    differences: ['value /*/a: 1 → 2', 'missing /*: number → nothing'],
  },
  {
    name: 'what is ignored',
    primary: '{"generatedAt":"10:04","meta":{"id":1,"deep":[1]},"grade":"A"}',
    candidate: '{"generatedAt":10,"meta":{"id":2,"deep":[]},"grade":"A"}',
    rules: { ignore: ['/generatedAt', '/meta'] },
    differences: [],
  },
  {
    name: 'what is ignored and stands on one side only',
    primary: '{"generatedAt":"10:04"}',
    candidate: '{"servedBy":"b"}',
    rules: { ignore: ['/generatedAt', '/servedBy'] },
    differences: [],
  },
  {
    name: 'what is ignored under each name, by *',
    primary: '{"north":{"at":1,"n":1},"south":{"at":1,"n":1}}',
    candidate: '{"north":{"at":2,"n":1},"south":{"at":2,"n":2}}',
    rules: { ignore: ['/*/at'] },
    differences: ['value /south/n: 1 → 2'],
  },
  {
    name: 'what is ignored by a name with a slash',
    primary: '{"a/b":1,"a":{"b":1}}',
    candidate: '{"a/b":2,"a":{"b":2}}',
    rules: { ignore: ['/a~1b'] },
    differences: ['value /a/b: 1 → 2'],
  },
  {
    name: 'numbers within a share of the primary’s',
    primary: '{"price":100,"rate":-200,"zero":0}',
    candidate: '{"price":101,"rate":-198,"zero":0.0}',
    rules: { numbers: { relative: 0.01 } },
    differences: [],
  },
  {
    name: 'numbers beyond a share of the primary’s, of which 0 has none',
    primary: '{"price":100,"rate":-200,"zero":0}',
    candidate: '{"price":101.0001,"rate":200,"zero":0.0001}',
    rules: { numbers: { relative: 0.01 } },
    differences: ['value /price: 100 → 101.0001', 'value /rate: -200 → 200', 'value /zero: 0 → 0.0001'],
  },
  {
    name: 'numbers within an amount, exactly',
    primary: '[0.3,0,10,1.005]',
    candidate: '[0.29,-0.01,10.01,1.015]',
    rules: { numbers: { absolute: 0.01 } },
    differences: [],
  },
  {
    name: 'ids beyond 2^53, which have no tolerance',
    primary: '{"id":9007199254740993,"same":12345678901234567890}',
    candidate: '{"id":9007199254740992,"same":12345678901234567890.0}',
    rules: { numbers: { relative: 0.5 } },
    differences: ['value /id: 9007199254740993 → 9007199254740992'],
  },
  {
    name: 'numbers beyond the range of a double',
    primary: '{"a":1e400,"b":1e-400}',
    candidate: '{"a":1e401,"b":10e-401}',
    differences: ['value /a: 1e400 → 1e401'],
  },
  {
    name: 'an integer beyond the range of a double, which has no tolerance',
    primary: '{"a":1e400,"b":5}',
    candidate: '{"a":5,"b":1e400}',
    rules: { numbers: { relative: 0.01 } },
    differences: ['value /a: 1e400 → 5', 'value /b: 5 → 1e400'],
  },
  {
    name: 'an unordered array in another order',
    primary: '{"items":[{"id":1,"p":1},{"id":2,"p":2}]}',
    candidate: '{"items":[{"id":2,"p":2},{"id":1.0,"p":3}]}',
    rules: { arrays: { '/items': 'id' } },
    differences: ['value /items/*/p: 1 → 3'],
  },
  {
    name: 'an unordered array with other items',
    primary: '{"items":[{"id":"a"},{"id":"b"}]}',
    candidate: '{"items":[{"id":"c"},{"id":"b"}]}',
    rules: { arrays: { '/items': 'id' } },
    differences: ['missing /items/*: object → nothing', 'added /items/*: nothing → object'],
  },
  {
    name: 'an unordered array with one key several times',
    primary: '[{"id":1,"p":1},{"id":1,"p":2},{"id":1,"p":3}]',
    candidate: '[{"id":1,"p":1},{"id":1,"p":2}]',
    rules: { arrays: { '': 'id' } },
    differences: ['missing /*: object → nothing'],
  },
  {
    name: 'an unordered array of values, and of items without the key',
    primary: '{"tags":["a","b","1",1],"rows":[{"x":1},{"x":2}]}',
    candidate: '{"tags":[1,"1","b","a"],"rows":[{"x":1},{"x":3}]}',
    rules: { arrays: { '/tags': 'id', '/rows': 'id' } },
    differences: ['value /rows/*/x: 2 → 3'],
  },
  {
    name: 'a candidate that is no JSON',
    primary: '{}',
    candidate: '<html>',
    differences: ['unreadable : readable → not-json'],
  },
  {
    name: 'a primary with a name twice in an object',
    primary: '{"a":1,"a":2}',
    candidate: '{"a":2}',
    differences: ['unreadable : duplicate-member → readable'],
  },
  {
    name: 'a name twice in both',
    primary: '{"a":1,"a":2}',
    candidate: '{"a":1, "a":2}',
    differences: ['bytes : 13 bytes, SHA-256 1c53ee0df7b12fd4 → 14 bytes, SHA-256 e181e5971206fde5'],
  },
  {
    name: 'a document that is too deep',
    primary: `${'['.repeat(101)}${']'.repeat(101)}`,
    candidate: `${'['.repeat(100)}${']'.repeat(100)}`,
    differences: ['unreadable : too-deep → readable'],
  },
]

describe('two documents differ in', () => {
  test.each(documentPairs)('$name', ({ primary, candidate, rules, differences }) => {
    const found = compareTexts(primary, candidate, rules)

    expect(describeDifferences(found)).toEqual(differences)
  })
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
      { numRuns: 100 },
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

describe('documents that aim at the time of a comparison', () => {
  const maxBytes = 256 * 1024

  const fill = (item: (n: number) => string, length = maxBytes): string => {
    const items: string[] = []
    for (let bytes = 0; bytes < length - 1000; ) {
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
      name: 'one number of very many digits',
      primary: `[${'1'.repeat(maxBytes - 10)}]`,
      candidate: `[${'1'.repeat(maxBytes - 11)}2]`,
      rules: { numbers: { relative: 0.01 } },
    },
    {
      name: 'a number of very many zeros between two digits',
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
    { name: 'long names', primary: `{"${'n'.repeat(100_000)}":1}`, candidate: `{"${'n'.repeat(100_000)}":2}` },
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

  test.each(pairs)('$name', ({ primary, candidate, rules }) => {
    const compare = createComparison({ fields: [], ignore: [], numbers: null, arrays: {}, ...rules }, maxBytes)
    const startedAt = process.cpuUsage()
    const found = compare(answer(primary), answer(candidate))
    const { user } = process.cpuUsage(startedAt)

    // What is given up says so.
    expect(found.kind === 'compared' ? 'compared' : found.why).toMatch(/^(compared|too-complex)$/)
    expect(user / 1000).toBeLessThan(5000)
  })

  test('a comparison that takes too many steps is given up', () => {
    const numbers = (text: string) => answer(`[${fill(() => text, 1024 ** 2)}]`)
    const rules: ComparisonRules = { fields: [], ignore: [], numbers: { absolute: 0.01 }, arrays: {} }

    const found = createComparison(rules, 1024 ** 2)(numbers('0.30'), numbers('0.29'))

    expect(found).toEqual({ kind: 'uncompared', why: 'too-complex' })
  })
})
