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

/** Two documents, what a comparison has to find (`kind pointer: primary → candidate`), and by which rules. */
type DocumentPair = [
  name: string,
  primary: string,
  candidate: string,
  differences: readonly string[],
  rules?: Partial<ComparisonRules>,
]

const documentPairs: DocumentPair[] = [
  ['another order of members', '{"a":1,"b":[2]}', '{"b":[2],"a":1}', []],
  ['other blanks', '{"a":1}', '\r\n{\t"a" : 1 }', []],
  ['a number written otherwise', '[1,100,0.5,0]', '[1.0,1e2,5E-1,-0.0]', []],
  ['a string escaped otherwise', '["Zürich/é"]', '["Z\\u00fcrich\\/\\u00e9"]', []],
  ['another string', '{"grade":"A"}', '{"grade":"B"}', ['value /grade: A → B']],
  ['another boolean', '[true]', '[false]', ['value /*: true → false']],
  ['a number that became a string', '{"n":1}', '{"n":"1"}', ['type /n: number → string']],
  [
    'numbers beyond an amount',
    '{"a":0.3,"b":0}',
    '{"a":0.2899999,"b":0.0100001}',
    ['value /a: 0.3 → 0.2899999', 'value /b: 0 → 0.0100001'],
    { numbers: { absolute: 0.01 } },
  ],
  ['another number', '{"n":1}', '{"n":2}', ['value /n: 1 → 2']],
  ['null for a value', '{"n":1}', '{"n":null}', ['type /n: number → null']],
  ['an array for an object', '{"n":{}}', '{"n":[]}', ['type /n: object → array']],
  ['another kind of document', '{}', '[]', ['type : object → array']],
  [
    'a difference far below',
    '{"a":{"b":[{"c":{"d":[1,2,3]}}]}}',
    '{"a":{"b":[{"c":{"d":[1,2,4]}}]}}',
    ['value /a/b/*/c/d/*: 3 → 4'],
  ],
  [
    'a longer array with another first item',
    '{"items":[1]}',
    '{"items":[2,1]}',
    ['length /items: 1 → 2', 'value /items/*: 1 → 2'],
  ],
  ['a text that ends too early', '{"a":[1,2]}', '{"a":[1,2', ['unreadable : readable → not-json']],
  ['no body at all', '{}', '', ['unreadable : readable → not-json']],
  [
    'what is ignored in each item, by *',
    '{"items":[{"at":1,"p":1},{"at":2,"p":2}]}',
    '{"items":[{"at":3,"p":1},{"at":4,"p":3}]}',
    ['value /items/*/p: 2 → 3'],
    { ignore: ['/items/*/at'] },
  ],
  [
    'unordered arrays in items of others, by *',
    '[{"rows":[{"id":1},{"id":2}]},{"rows":[{"id":3},{"id":4}]}]',
    '[{"rows":[{"id":2},{"id":1}]},{"rows":[{"id":4}]}]',
    ['missing /*/rows/*: object → nothing'],
    { arrays: { '/*/rows': 'id' } },
  ],
  ['a member that is gone', '{"a":1,"b":2}', '{"a":1}', ['missing /b: number → nothing']],
  ['a member that is new', '{"a":1}', '{"a":1,"b":null}', ['added /b: nothing → null']],
  [
    'the same difference in each item of an array',
    '[{"p":1},{"p":2},{"p":3}]',
    '[{"p":2},{"p":3},{"p":4}]',
    ['value /*/p: 1 → 2'],
  ],
  ['a shorter array', '{"items":[1,2,3]}', '{"items":[1,2]}', ['length /items: 3 → 2']],
  ['an array in another order', '[1,2]', '[2,1]', ['value /*: 1 → 2']],
  ['a name with characters that a pointer escapes', '{"a/b":1,"m~n":1}', '{"a/b":2,"m~n":2}', ['value /*: 1 → 2']],
  [
    'names that are data',
    '{"byVin":{"WVWZZZ1KZAW000001":{"grade":"A"}}}',
    '{"byVin":{"WVWZZZ1KZAW000001":{"grade":"B"}}}',
    ['value /byVin/*/grade: A → B'],
  ],
  [
    'members that every object inherits',
    '{"__proto__":{"a":1},"toString":1}',
    '{"__proto__":{"a":2}}',
    ['value /*/a: 1 → 2', 'missing /*: number → nothing'],
  ],
  [
    'what is ignored',
    '{"generatedAt":"10:04","meta":{"id":1,"deep":[1]},"grade":"A"}',
    '{"generatedAt":10,"meta":{"id":2,"deep":[]},"grade":"A"}',
    [],
    { ignore: ['/generatedAt', '/meta'] },
  ],
  [
    'what is ignored and stands on one side only',
    '{"generatedAt":"10:04"}',
    '{"servedBy":"b"}',
    [],
    { ignore: ['/generatedAt', '/servedBy'] },
  ],
  [
    'what is ignored under each name, by *',
    '{"north":{"at":1,"n":1},"south":{"at":1,"n":1}}',
    '{"north":{"at":2,"n":1},"south":{"at":2,"n":2}}',
    ['value /south/n: 1 → 2'],
    { ignore: ['/*/at'] },
  ],
  [
    'what is ignored by a name with a slash',
    '{"a/b":1,"a":{"b":1}}',
    '{"a/b":2,"a":{"b":2}}',
    ['value /a/b: 1 → 2'],
    { ignore: ['/a~1b'] },
  ],
  [
    'numbers within a share of the primary’s',
    '{"price":100,"rate":-200,"zero":0}',
    '{"price":101,"rate":-198,"zero":0.0}',
    [],
    { numbers: { relative: 0.01 } },
  ],
  [
    'numbers beyond a share of the primary’s, of which 0 has none',
    '{"price":100,"rate":-200,"zero":0}',
    '{"price":101.0001,"rate":200,"zero":0.0001}',
    ['value /price: 100 → 101.0001', 'value /rate: -200 → 200', 'value /zero: 0 → 0.0001'],
    { numbers: { relative: 0.01 } },
  ],
  [
    'numbers within an amount, exactly',
    '[0.3,0,10,1.005]',
    '[0.29,-0.01,10.01,1.015]',
    [],
    { numbers: { absolute: 0.01 } },
  ],
  [
    'ids beyond 2^53, which have no tolerance',
    '{"id":9007199254740993,"same":12345678901234567890}',
    '{"id":9007199254740992,"same":12345678901234567890.0}',
    ['value /id: 9007199254740993 → 9007199254740992'],
    { numbers: { relative: 0.5 } },
  ],
  [
    'numbers beyond the range of a double',
    '{"a":1e400,"b":1e-400}',
    '{"a":1e401,"b":10e-401}',
    ['value /a: 1e400 → 1e401'],
  ],
  [
    'an integer beyond the range of a double, which has no tolerance',
    '{"a":1e400,"b":5}',
    '{"a":5,"b":1e400}',
    ['value /a: 1e400 → 5', 'value /b: 5 → 1e400'],
    { numbers: { relative: 0.01 } },
  ],
  [
    'an unordered array in another order',
    '{"items":[{"id":1,"p":1},{"id":2,"p":2}]}',
    '{"items":[{"id":2,"p":2},{"id":1.0,"p":3}]}',
    ['value /items/*/p: 1 → 3'],
    { arrays: { '/items': 'id' } },
  ],
  [
    'an unordered array with other items',
    '{"items":[{"id":"a"},{"id":"b"}]}',
    '{"items":[{"id":"c"},{"id":"b"}]}',
    ['missing /items/*: object → nothing', 'added /items/*: nothing → object'],
    { arrays: { '/items': 'id' } },
  ],
  [
    'an unordered array with one key several times',
    '[{"id":1,"p":1},{"id":1,"p":2},{"id":1,"p":3}]',
    '[{"id":1,"p":1},{"id":1,"p":2}]',
    ['missing /*: object → nothing'],
    { arrays: { '': 'id' } },
  ],
  [
    'an unordered array of values, and of items without the key',
    '{"tags":["a","b","1",1],"rows":[{"x":1},{"x":2}]}',
    '{"tags":[1,"1","b","a"],"rows":[{"x":1},{"x":3}]}',
    ['value /rows/*/x: 2 → 3'],
    { arrays: { '/tags': 'id', '/rows': 'id' } },
  ],
  ['a candidate that is no JSON', '{}', '<html>', ['unreadable : readable → not-json']],
  [
    'a primary with a name twice in an object',
    '{"a":1,"a":2}',
    '{"a":2}',
    ['unreadable : duplicate-member → readable'],
  ],
  [
    'a name twice in both',
    '{"a":1,"a":2}',
    '{"a":1, "a":2}',
    ['bytes : 13 bytes, SHA-256 1c53ee0df7b12fd4 → 14 bytes, SHA-256 e181e5971206fde5'],
  ],
  [
    'a document that is too deep',
    `${'['.repeat(101)}${']'.repeat(101)}`,
    `${'['.repeat(100)}${']'.repeat(100)}`,
    ['unreadable : too-deep → readable'],
  ],
]

describe('two documents differ in', () => {
  test.each<DocumentPair>(documentPairs)('%s', (_, primary, candidate, differences, rules) => {
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
  const maxBytes = 128 * 1024

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

  type HostilePair = [name: string, primary: string, candidate: string, rules?: Partial<ComparisonRules>]

  // Each of them would take minutes, or all memory, if what it aims at took the square of its length.
  const pairs: HostilePair[] = [
    ['numbers that all differ', list(() => '1'), list(() => '2')],
    ['numbers as far apart as the tolerance', list(() => '0.3'), list(() => '0.29'), { numbers: { absolute: 0.01 } }],
    [
      'one number of very many digits',
      `[${'1'.repeat(maxBytes - 10)}]`,
      `[${'1'.repeat(maxBytes - 11)}2]`,
      { numbers: { relative: 0.01 } },
    ],
    [
      'a number of very many zeros between two digits',
      `[1${'0'.repeat(maxBytes - 20)}1]`,
      `[1.${'0'.repeat(maxBytes - 20)}1]`,
      { numbers: { absolute: 1 } },
    ],
    [
      'numbers of four hundred digits',
      list(() => `0.${'1'.repeat(390)}`),
      list(() => `0.${'1'.repeat(389)}2`),
      { numbers: { relative: 1e-300 } },
    ],
    [
      'exponents beyond all bounds',
      list(() => '1e999999999'),
      list(() => '1e-999999999'),
      { numbers: { absolute: 1 } },
    ],
    ['members of which no two have one name', `{${fill((n) => `"p${n}":1`)}}`, `{${fill((n) => `"c${n}":1`)}}`],
    [
      'members with names of which each looks like data',
      `{${fill((n) => `"${n}-aA1-bB2-cC3":1`)}}`,
      `{${fill((n) => `"${n}-aA1-bB2-cC3":2`)}}`,
    ],
    ['long names', `{"${'n'.repeat(100_000)}":1}`, `{"${'n'.repeat(100_000)}":2}`],
    [
      'an unordered array in reverse',
      list((n) => `{"id":${n}}`),
      `[${fill((n) => `{"id":${n}}`)
        .split(',')
        .toReversed()
        .join()}]`,
      { arrays: { '': 'id' } },
    ],
    ['an unordered array of one key', list(() => '{"id":1}'), list(() => '{"id": 1}'), { arrays: { '': 'id' } }],
    [
      'an unordered array of long keys',
      list((n) => `{"id":"${'k'.repeat(10_000)}${n}"}`),
      list((n) => `{"id": "${'k'.repeat(10_000)}${n}"}`),
      { arrays: { '': 'id' } },
    ],
    [
      'many rules that hold everywhere',
      list(() => '[[[1]]]'),
      list(() => '[[[2]]]'),
      { ignore: Array.from({ length: 100 }, (_, n) => `/*/${n % 2 === 0 ? '*' : '0'}/*/*/x${n}`) },
    ],
    [
      'a hundred levels',
      `${'['.repeat(99)}${list(() => '1')}${']'.repeat(99)}`,
      `${'['.repeat(99)}${list(() => '2')}${']'.repeat(99)}`,
    ],
    ['objects for arrays', list(() => '{}'), list(() => '[]')],
  ]

  test.each<HostilePair>(pairs)('%s', (_, primary, candidate, rules) => {
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
