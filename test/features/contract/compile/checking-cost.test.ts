import { expect, test } from 'vitest'
import { createValidators } from '../../../../src/features/contract/check/validators.ts'
import { checksInPlace, findCirclesInPlace } from '../../../../src/features/contract/compile/check-schemas.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { createFollow } from '../../../../src/features/contract/compile/schema-keywords.ts'
import { folderWith } from '../../../core/config/helper.ts'

const ref = (name: string): object => ({ $ref: `#/${name}` })
const tree = { type: 'object', properties: { left: ref('A'), right: ref('A') } }
test('the schemas of one place are counted as often as branches lead to them', () => {
  const schemas = { A: { allOf: [ref('B'), ref('B')] }, B: { allOf: [ref('C'), ref('C')] }, C: { type: 'null' } }

  expect(checksInPlace(schemas.A, createFollow(schemas))).toBe(13)
})

test('the schemas that hold for an object by one of its members count', () => {
  const schema = { dependentSchemas: { a: { type: 'object' }, b: { type: 'object' } } }

  expect(checksInPlace(schema, createFollow({}))).toBe(3)
})

test('a circle without a member between is found', () => {
  const circle = { A: { not: ref('B') }, B: { if: ref('A') } }

  expect(findCirclesInPlace([circle.A], createFollow(circle))).toEqual(new Set([circle.A]))
  expect(findCirclesInPlace([tree], createFollow({ A: tree }))).toEqual(new Set())
})

/** Loads a contract whose request has a schema, and returns a check of values against it. */
const loadBody = (schema: object, schemas: object = {}) => {
  const requestBody = { content: { 'application/json': { schema } } }
  const paths = { '/valuation/score': { post: { requestBody, responses: { 200: { description: 'scored' } } } } }
  const document = JSON.stringify({ openapi: '3.1.1', paths, components: { schemas } })
  const { contract } = loadContract(folderWith({ 'contract.json': document }), 'contract.json')
  const name = contract?.operations['valuation.score']?.request.body?.content[0]?.schema ?? ''
  const validators = contract && createValidators(contract)
  return (value: unknown, bytes: number) =>
    validators?.validate(name, value, 'body', { bytes })?.map(({ rule }) => rule)
}

test('items that fifty branches are tried for are counted, also where no branch leads to another schema', () => {
  const branch = (i: number): object => ({
    type: 'object',
    required: ['kind'],
    properties: { kind: { const: `k${i}` }, a: { type: 'string' }, b: { type: 'string' } },
  })
  const rules = loadBody({
    type: 'array',
    items: { anyOf: [...Array.from({ length: 50 }, (_, i) => branch(i)), { type: 'number' }] },
  })
  const honest = (length: number) =>
    Array.from({ length }, () => ({ kind: 'k49', a: 'x'.repeat(30), b: 'x'.repeat(30) }))

  const digits = Array.from({ length: 60_000 }, () => 0)

  // 120 KB of digits would take 3 million branches.
  expect(rules(digits, 120_000)).toEqual(['complexity'])
  expect(rules(honest(10_000), 1024 ** 2)).toEqual([])
})

test('patterns that JavaScript runs and members that a schema names are counted too', () => {
  const patterns = Array.from({ length: 40 }, (_, i) => [`^k${i}[a-z]+$`, { type: 'number' }])
  const names = Array.from({ length: 1_000 }, (_, i) => [`p${i}`, { type: 'string' }])
  const members = (length: number) => Object.fromEntries(Array.from({ length }, (_, i) => [`n${i}`, 0]))
  const byPattern = loadBody({ type: 'object', patternProperties: Object.fromEntries(patterns) })
  const byName = loadBody({ type: 'array', items: { type: 'object', properties: Object.fromEntries(names) } })

  const objects = (length: number) => Array.from({ length }, () => ({}))

  expect(byPattern(members(10_000), 100_000)).toEqual(['complexity'])
  expect(byPattern(members(100), 1_000)).toEqual([])
  expect(byName(objects(40_000), 120_000)).toEqual(['complexity'])
  expect(byName(objects(1_000), 100_000)).toEqual([])
})

test('items that none of many `contains` finds are counted: each keeps an error', () => {
  const rules = loadBody({
    type: 'array',
    anyOf: Array.from({ length: 40 }, (_, i) => ({ contains: { const: `x${i}` } })),
  })
  const items = (length: number) => Array.from({ length }, () => 1)

  expect(rules(items(20_000), 40_000)).toEqual(['complexity'])
  expect(rules([...items(300), 'x39'], 700)).toEqual([])
})

test('a deep body with a large end breaks the contract instead of holding the process', () => {
  const leaf = { list: { type: 'array', items: { type: 'string', pattern: '^(?:a|b)+$' } } }
  // The last member fails, after all that stands before it has been checked.
  const branch = (last: string): object => ({
    properties: { a: { $ref: '#/components/schemas/A' }, ...leaf, last: { type: last } },
  })
  const rules = loadBody(
    { $ref: '#/components/schemas/A' },
    { A: { type: 'object', anyOf: [branch('null'), branch('string')] } },
  )
  let value: object = { last: 1, list: Array.from({ length: 10_000 }, () => 'ab') }
  for (let depth = 0; depth < 20; depth++) value = { a: value, last: 1 }

  // It would be 2^20 times the 10,000 texts.
  expect(rules(value, 90_000)).toEqual(['complexity'])
})
