import { expect, test } from 'vitest'
import { areChecksBounded, checksInPlace, findCirclesInPlace } from '../../../src/config/contract/checking-cost.ts'
import { loadContract } from '../../../src/config/contract/load-contract.ts'
import { createFollow } from '../../../src/config/contract/schema-walk.ts'
import { createValidators } from '../../../src/contract/validators.ts'
import { folderWith } from '../helper.ts'

const ref = (name: string): object => ({ $ref: `#/${name}` })
const isBounded = (schemas: Readonly<Record<string, unknown>>): boolean =>
  areChecksBounded([schemas.A], createFollow(schemas))

const tree = { type: 'object', properties: { left: ref('A'), right: ref('A') } }
const list = { anyOf: [{ type: 'null' }, { properties: { head: {}, tail: ref('A') } }] }
const doubled = { anyOf: [{ properties: { a: ref('A') }, required: ['x'] }, { properties: { a: ref('A') } }] }

test('what can be checked again at every level is found', () => {
  expect(isBounded({ A: tree })).toBe(true)
  expect(isBounded({ A: list })).toBe(true)
  expect(isBounded({ A: { items: ref('B') }, B: { allOf: [ref('A'), { type: 'array' }] } })).toBe(true)
  expect(isBounded({ A: { oneOf: Array.from({ length: 20 }, () => ({ properties: { id: {} } })) } })).toBe(true)
  expect(isBounded({ A: doubled })).toBe(false)
  expect(isBounded({ A: { properties: { a: ref('A') }, patternProperties: { b: ref('A') } } })).toBe(false)
  expect(isBounded({ A: { properties: { a: ref('A') }, unevaluatedProperties: ref('A') } })).toBe(false)
  expect(isBounded({ A: { items: ref('A'), contains: ref('A') } })).toBe(false)
})

test('the schemas of one place are counted as often as branches lead to them', () => {
  const schemas = { A: { allOf: [ref('B'), ref('B')] }, B: { allOf: [ref('C'), ref('C')] }, C: { type: 'null' } }

  expect(checksInPlace(schemas.A, createFollow(schemas))).toBe(13)
})

test('a circle without a member between is found', () => {
  const circle = { A: { not: ref('B') }, B: { if: ref('A') } }

  expect(findCirclesInPlace([circle.A], createFollow(circle))).toEqual(new Set([circle.A]))
  expect(findCirclesInPlace([tree], createFollow({ A: tree }))).toEqual(new Set())
})

test('items that none of many `contains` finds are counted: each keeps an error', () => {
  const body = { anyOf: Array.from({ length: 40 }, (_, i) => ({ contains: { const: `x${i}` } })) }
  const folder = folderWith({
    'contract.json': JSON.stringify({
      openapi: '3.1.1',
      info: { title: 'test', version: '1' },
      paths: {
        '/valuation/score': {
          post: {
            requestBody: { content: { 'application/json': { schema: { type: 'array', ...body } } } },
            responses: { 200: { description: 'scored' } },
          },
        },
      },
    }),
  })
  const { contract } = loadContract(folder, 'contract.json')
  const validators = contract && createValidators(contract)
  const items = (length: number) => Array.from({ length }, () => 1)
  const rules = (value: unknown, bytes: number) =>
    validators?.validate('s0', value, 'body', { bytes })?.map(({ rule }) => rule)

  expect(rules(items(100_000), 200_000)).toEqual(['complexity'])
  expect(rules([...items(300), 'x39'], 700)).toEqual([])
})

test('a deep body with a large end breaks the contract instead of holding the process', () => {
  const leaf = { list: { type: 'array', items: { type: 'string', pattern: '^(?:a|b)+$' } } }
  // The last member fails, after all that stands before it has been checked.
  const branch = (last: string): object => ({
    properties: { a: { $ref: '#/components/schemas/A' }, ...leaf, last: { type: last } },
  })
  const folder = folderWith({
    'contract.json': JSON.stringify({
      openapi: '3.1.1',
      info: { title: 'test', version: '1' },
      paths: {
        '/valuation/score': {
          post: {
            requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/A' } } } },
            responses: { 200: { description: 'scored' } },
          },
        },
      },
      components: { schemas: { A: { type: 'object', anyOf: [branch('null'), branch('string')] } } },
    }),
  })
  const { contract } = loadContract(folder, 'contract.json')
  let value: object = { last: 1, list: Array.from({ length: 100_000 }, () => 'ab') }
  for (let depth = 0; depth < 20; depth++) value = { a: value, last: 1 }
  const start = performance.now()

  const schema = contract?.operations['valuation.score']?.request.body?.content[0]?.schema ?? ''
  const violations = contract && createValidators(contract).validate(schema, value, 'body', { bytes: 900_000 })

  expect(violations).toMatchObject([{ rule: 'complexity' }])
  // It would be 2^20 times the 100,000 texts.
  expect(performance.now() - start).toBeLessThan(30_000)
})
