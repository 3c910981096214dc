import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createComparison } from '../../../../../src/features/candidate/observe/compare/compare-responses.ts'
import type { ComparisonRules } from '../../../../../src/features/candidate/observe/compare/comparison.ts'
import { comparedResponse, createRules } from './response.ts'

type Rules = Partial<ComparisonRules>

const compare = (primary: string, candidate: string, rules: Rules = {}, maxBytes = 1024 ** 2) =>
  createComparison(createRules(rules), maxBytes)(comparedResponse(primary), comparedResponse(candidate))

/** Compares two documents; lists `kind pointer: primary → candidate`. */
const differences = (...of: Parameters<typeof compare>): readonly string[] => {
  const found = compare(...of)
  if (found.kind === 'uncompared') return [`uncompared: ${found.why}`]
  return found.differences.map(
    ({ kind, pointer, primary, candidate }) => `${kind} ${pointer}: ${primary} → ${candidate}`,
  )
}

/** Two documents, the differences between them, one a line, and by which rules. */
type DocumentPair = [name: string, primary: string, candidate: string, differences: string, rules?: Rules]

const byId = (...pointers: readonly string[]): Rules => ({ arrays: Object.fromEntries(pointers.map((p) => [p, 'id'])) })
const within = (relative: number): Rules => ({ numbers: { relative } })
const hundredth: Rules = { numbers: { absolute: 0.01 } }

const nest = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const twice = '13 bytes, SHA-256 1c53ee0df7b12fd4 → 14 bytes, SHA-256 e181e5971206fde5'

const expectDifferences = (...[, primary, candidate, expected, rules]: DocumentPair): void =>
  expect(differences(primary, candidate, rules).join('\n')).toBe(expected)

describe('two documents differ in', () => {
  test.each<DocumentPair>([
    ['another order of members', '{"a":1,"b":[2]}', '{"b":[2],"a":1}', ''],
    ['other blanks', '{"a":1}', '\r\n{\t"a" : 1 }', ''],
    ['a number written otherwise', '[1,100,0.5,0]', '[1.0,1e2,5E-1,-0.0]', ''],
    ['a string escaped otherwise', '["Zürich/é"]', '["Z\\u00fcrich\\/\\u00e9"]', ''],
    ['another string', '{"grade":"A"}', '{"grade":"B"}', 'value /grade: A → B'],
    ['another boolean', '[true]', '[false]', 'value /*: true → false'],
    ['a number that became a string', '{"n":1}', '{"n":"1"}', 'type /n: number → string'],
    ['another number', '{"n":1}', '{"n":2}', 'value /n: 1 → 2'],
    ['null for a value', '{"n":1}', '{"n":null}', 'type /n: number → null'],
    ['an array for an object', '{"n":{}}', '{"n":[]}', 'type /n: object → array'],
    ['another kind of document', '{}', '[]', 'type : object → array'],
    ['a value far below', '{"a":{"b":[{"d":[1,2]}]}}', '{"a":{"b":[{"d":[1,4]}]}}', 'value /a/b/*/d/*: 2 → 4'],
    ['a shorter array', '{"items":[1,2,3]}', '{"items":[1,2]}', 'length /items: 3 → 2'],
    ['a longer array, and its first', '{"a":[1]}', '{"a":[2,1]}', 'length /a: 1 → 2\nvalue /a/*: 1 → 2'],
    ['an array in another order', '[1,2]', '[2,1]', 'value /*: 1 → 2'],
    ['each item of an array alike', '[{"p":1},{"p":2},{"p":3}]', '[{"p":2},{"p":3},{"p":4}]', 'value /*/p: 1 → 2'],
    ['a member that is gone', '{"a":1,"b":2}', '{"a":1}', 'missing /b: number → nothing'],
    ['a member that is new', '{"a":1}', '{"a":1,"b":null}', 'added /b: nothing → null'],
    ['names that a pointer escapes', '{"a/b":1,"m~n":1}', '{"a/b":2,"m~n":2}', 'value /*: 1 → 2'],
    ['names that are data', '{"WVWZZZ1KZAW000001":{"g":"A"}}', '{"WVWZZZ1KZAW000001":{"g":"B"}}', 'value /*/g: A → B'],
    ['a member that every object inherits', '{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}', 'value /*/a: 1 → 2'],
    ['one that is gone', '{"toString":1}', '{}', 'missing /*: number → nothing'],
    ['a text that ends too early', '{"a":[1,2]}', '{"a":[1,2', 'unreadable : readable → not-json'],
    ['no body at all', '{}', '', 'unreadable : readable → not-json'],
    ['a candidate that is no JSON', '{}', '<html>', 'unreadable : readable → not-json'],
    ['a name twice in the primary', '{"a":1,"a":2}', '{"a":2}', 'unreadable : duplicate-member → readable'],
    ['a name twice in both', '{"a":1,"a":2}', '{"a":1, "a":2}', `bytes : ${twice}`],
    ['a document that is too deep', nest(101), nest(100), 'unreadable : too-deep → readable'],
  ])('%s', expectDifferences)

  const [at, slash] = [{ ignore: ['/*/at'] }, { ignore: ['/a~1b'] }]

  test.each<DocumentPair>([
    ['members', '{"at":"10","m":{"id":1,"d":[1]}}', '{"at":10,"m":{"id":2,"d":[]}}', '', { ignore: ['/at', '/m'] }],
    ['members of one side', '{"at":"10:04"}', '{"by":"b"}', '', { ignore: ['/at', '/by'] }],
    ['each item, by *', '[{"at":1,"p":1}]', '[{"at":3,"p":3}]', 'value /*/p: 1 → 3', at],
    [
      'under each name',
      '{"a":{"at":1},"b":{"at":1,"n":1}}',
      '{"a":{"at":2},"b":{"at":2,"n":2}}',
      'value /b/n: 1 → 2',
      at,
    ],
    ['a name with a slash', '{"a/b":1,"a":{"b":1}}', '{"a/b":2,"a":{"b":2}}', 'value /a/b: 1 → 2', slash],
  ])('nothing that is ignored: %s', expectDifferences)

  const id = '900719925474099'

  test.each<DocumentPair>([
    ['within a share of the primary’s', '[100,-200,0]', '[101,-198,0.0]', '', within(0.01)],
    ['beyond a share', '[100]', '[101.0001]', 'value /*: 100 → 101.0001', within(0.01)],
    ['of the other sign', '[-200]', '[200]', 'value /*: -200 → 200', within(0.01)],
    ['beyond a share of 0, which has none', '[0]', '[0.0001]', 'value /*: 0 → 0.0001', within(0.01)],
    ['within an amount, exactly', '[0.3,0,10,1.005]', '[0.29,-0.01,10.01,1.015]', '', hundredth],
    ['beyond an amount', '[0.3]', '[0.2899999]', 'value /*: 0.3 → 0.2899999', hundredth],
    ['beyond an amount of 0', '[0]', '[0.0100001]', 'value /*: 0 → 0.0100001', hundredth],
    ['beyond 2^53: ids, without tolerance', `[${id}3]`, `[${id}2]`, `value /*: ${id}3 → ${id}2`, within(0.5)],
    ['beyond 2^53, alike', '[12345678901234567890]', '[12345678901234567890.0]', '', within(0.5)],
    ['beyond a double', '{"a":1e400,"b":1e-400}', '{"a":1e401,"b":10e-401}', 'value /a: 1e400 → 1e401'],
    ['beyond a double, without tolerance', '[1e400]', '[5]', 'value /*: 1e400 → 5', within(0.01)],
    ['beyond a double, of the candidate', '[5]', '[1e400]', 'value /*: 5 → 1e400', within(0.01)],
  ])('numbers %s', expectDifferences)

  const [gone, goneBelow] = ['missing /*: object → nothing', 'missing /*/*: object → nothing']

  test.each<DocumentPair>([
    ['another order', '[{"id":1,"p":1},{"id":2}]', '[{"id":2},{"id":1.0,"p":3}]', 'value /*/p: 1 → 3', byId('')],
    ['other items', '[{"id":"a"}]', '[{"id":"c"}]', `${gone}\nadded /*: nothing → object`, byId('')],
    ['one key several times', '[{"id":1,"p":1},{"id":1},{"id":1}]', '[{"id":1,"p":1},{"id":1}]', gone, byId('')],
    ['items of others, by *', '[[{"id":1},{"id":2}],[{"id":3}]]', '[[{"id":2},{"id":1}],[]]', goneBelow, byId('/*')],
    ['values', '["a","b","1",1]', '[1,"1","b","a"]', '', byId('')],
    ['items without the key', '[{"x":1},{"x":2}]', '[{"x":1},{"x":3}]', 'value /*/x: 2 → 3', byId('')],
  ])('unordered arrays with %s', expectDifferences)
})

describe('for every number', () => {
  test('a number of any length is equal to itself written otherwise, and to no other', () => {
    const digits = fc.bigInt({ min: 1n, max: 10n ** 40n })
    fc.assert(
      fc.property(digits, fc.integer({ min: -400, max: 400 }), fc.nat(50), (number, exponent, zeros) => {
        const text = `{"n":${number}e${exponent}}`

        expect(differences(text, `{"n":${number}${'0'.repeat(zeros)}E${exponent - zeros}}`)).toEqual([])
        expect(differences(text, `{"n":${number + 1n}e${exponent}}`)).toHaveLength(1)
      }),
    )
  })

  test('a tolerance is exact, as fractions of whole numbers are', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), fc.integer({ min: 0, max: 5000 }), (primary, candidate, thousandths) => {
        const found = differences(`[${primary / 100}]`, `[${candidate / 100}]`, within(thousandths / 1000))

        const isWithin = Math.abs(primary - candidate) * 1000 <= Math.abs(primary) * thousandths
        expect(found).toHaveLength(isWithin ? 0 : 1)
      }),
    )
  })
})

describe('documents that aim at the time of a comparison', () => {
  const maxBytes = 128 * 1024

  const fill = (item: (n: number) => string, length = maxBytes): readonly string[] => {
    const items: string[] = []
    for (let bytes = 0; bytes < length - 1000; bytes += (items.at(-1)?.length ?? 0) + 1) items.push(item(items.length))
    return items
  }
  const list = (item: (n: number) => string): string => `[${fill(item)}]`
  const ids = fill((n) => `{"id":${n}}`)
  const zeros = '0'.repeat(maxBytes - 20)
  const deep = (item: string) => `${'['.repeat(99)}${list(() => item)}${']'.repeat(99)}`
  const key = 'k'.repeat(10_000)
  const byOne: Rules = { numbers: { absolute: 1 } }
  const everywhere = { ignore: Array.from({ length: 100 }, (_, n) => `/*/${n % 2 === 0 ? '*' : '0'}/*/*/x${n}`) }

  // Each of them would take minutes, or all memory, if what it aims at took the square of its length.
  test.each<[name: string, primary: string, candidate: string, rules?: Rules]>([
    ['numbers that all differ', list(() => '1'), list(() => '2')],
    ['numbers as far apart as the tolerance', list(() => '0.3'), list(() => '0.29'), hundredth],
    ['one number of very many digits', `[${'1'.repeat(zeros.length)}]`, `[${'1'.repeat(zeros.length)}2]`, within(0.01)],
    ['very many zeros between two digits', `[1${zeros}1]`, `[1.${zeros}1]`, byOne],
    ['four hundred digits', list(() => `0.${'1'.repeat(390)}`), list(() => `0.${'1'.repeat(389)}2`), within(1e-300)],
    ['exponents beyond all bounds', list(() => '1e999999999'), list(() => '1e-999999999'), byOne],
    ['names of which no two are one', `{${fill((n) => `"p${n}":1`)}}`, `{${fill((n) => `"c${n}":1`)}}`],
    ['names like data', `{${fill((n) => `"${n}-aA1-bB2-cC3":1`)}}`, `{${fill((n) => `"${n}-aA1-bB2-cC3":2`)}}`],
    ['long names', `{"${'n'.repeat(100_000)}":1}`, `{"${'n'.repeat(100_000)}":2}`],
    ['an unordered array in reverse', `[${ids}]`, `[${ids.toReversed()}]`, byId('')],
    ['an unordered array of one key', list(() => '{"id":1}'), list(() => '{"id": 1}'), byId('')],
    ['an array of long keys', list((n) => `{"id":"${key}${n}"}`), list((n) => `{"id": "${key}${n}"}`), byId('')],
    ['many rules that hold everywhere', list(() => '[[[1]]]'), list(() => '[[[2]]]'), everywhere],
    ['a hundred levels', deep('1'), deep('2')],
    ['objects for arrays', list(() => '{}'), list(() => '[]')],
  ])('%s', (_, primary, candidate, rules) => {
    const startedAt = process.cpuUsage()
    const found = compare(primary, candidate, rules, maxBytes)
    const { user } = process.cpuUsage(startedAt)

    // What is given up says so.
    expect(found.kind === 'compared' ? 'compared' : found.why).toMatch(/^(compared|too-complex)$/)
    expect(user / 1000).toBeLessThan(5000)
  })

  test('a comparison that takes too many steps is given up', () => {
    const [primary, candidate] = ['0.30', '0.29'].map((text) => `[${fill(() => text, 1024 ** 2)}]`) as [string, string]

    expect(compare(primary, candidate, hundredth)).toEqual({ kind: 'uncompared', why: 'too-complex' })
  })
})
