import { expect, test } from 'vitest'
import { checksInPlace, findCirclesInPlace } from '../../../../src/features/contract/compile/check-schemas.ts'
import { createFollow } from '../../../../src/features/contract/compile/schema-keywords.ts'
import { bodyRulesOf, load, scoring } from './loading.ts'

const ref = (name: string): object => ({ $ref: `#/${name}` })
const listOf = <T>(length: number, item: (i: number) => T): T[] => Array.from({ length }, (_, i) => item(i))

const branching = { A: { allOf: [ref('B'), ref('B')] }, B: { allOf: [ref('C'), ref('C')] }, C: { type: 'null' } }
const dependent = { A: { dependentSchemas: { a: { type: 'object' }, b: { type: 'object' } } } }

test.each<[string, Record<string, object>, number]>([
  ['as often as branches lead to them', branching, 13],
  ['also where they hold for an object by one of its members', dependent, 3],
])('the schemas of one place are counted %s', (_, schemas, checks) => {
  expect(checksInPlace(schemas.A ?? {}, createFollow(schemas))).toBe(checks)
})

test('a circle without a member between is found', () => {
  const circle = { A: { not: ref('B') }, B: { if: ref('A') } }
  const tree = { type: 'object', properties: { left: ref('A'), right: ref('A') } }

  expect(findCirclesInPlace([circle.A], createFollow(circle))).toEqual(new Set([circle.A]))
  expect(findCirclesInPlace([tree], createFollow({ A: tree }))).toEqual(new Set())
})

/** Returns a check of values by a contract whose request has a schema. */
const rulesOf = (schema: object, schemas: object = {}) =>
  bodyRulesOf(load(scoring(schema, { components: { schemas } })))

test('items that fifty branches are tried for are counted, also where no branch leads to another schema', () => {
  const branches = listOf(50, (i) => ({
    type: 'object',
    required: ['kind'],
    properties: { kind: { const: `k${i}` }, a: { type: 'string' }, b: { type: 'string' } },
  }))
  const rules = rulesOf({ type: 'array', items: { anyOf: [...branches, { type: 'number' }] } })
  const honest = listOf(10_000, () => ({ kind: 'k49', a: 'x'.repeat(30), b: 'x'.repeat(30) }))

  // 120 KB of digits would take 3 million branches.
  expect([rules(Array(60_000).fill(0), 120_000), rules(honest, 1024 ** 2)]).toEqual([['complexity'], []])
})

test('patterns that JavaScript runs and members that a schema names are counted too', () => {
  const patterns = listOf(40, (i) => [`^k${i}[a-z]+$`, { type: 'number' }])
  const names = listOf(1_000, (i) => [`p${i}`, { type: 'string' }])
  const members = (length: number) => Object.fromEntries(listOf(length, (i) => [`n${i}`, 0]))
  const byPattern = rulesOf({ type: 'object', patternProperties: Object.fromEntries(patterns) })
  const byName = rulesOf({ type: 'array', items: { type: 'object', properties: Object.fromEntries(names) } })

  expect([byPattern(members(10_000), 100_000), byPattern(members(100), 1_000)]).toEqual([['complexity'], []])
  const [many, few] = [Array(40_000).fill({}), Array(1_000).fill({})]
  expect([byName(many, 120_000), byName(few, 100_000)]).toEqual([['complexity'], []])
})

test('items that none of many `contains` finds are counted: each keeps an error', () => {
  const rules = rulesOf({ type: 'array', anyOf: listOf(40, (i) => ({ contains: { const: `x${i}` } })) })

  expect(rules(Array(20_000).fill(1), 40_000)).toEqual(['complexity'])
  expect(rules([...Array(300).fill(1), 'x39'], 700)).toEqual([])
})

test('a deep body with a large end breaks the contract instead of holding the process', () => {
  const list = { type: 'array', items: { type: 'string', pattern: '^(?:a|b)+$' } }
  // The last member fails, after all that stands before it has been checked.
  const branch = (last: string): object => ({
    properties: { a: { $ref: '#/components/schemas/A' }, list, last: { type: last } },
  })
  const A = { type: 'object', anyOf: [branch('null'), branch('string')] }
  const end: object = { last: 1, list: Array(10_000).fill('ab') }
  const value = listOf(20, (depth) => depth).reduce((inner) => ({ a: inner, last: 1 }), end)

  // It would be 2^20 times the 10,000 texts.
  expect(rulesOf({ $ref: '#/components/schemas/A' }, { A })(value, 90_000)).toEqual(['complexity'])
})
