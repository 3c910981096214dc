import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { createValidators } from '../../../../src/features/contract/check/validators.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { allOperations } from '../../../../src/operations.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { sampleContract } from '../../../helpers/contract.ts'
import { largeContract } from '../../../helpers/large-contract.ts'

const files = fileURLToPath(new URL('files/', import.meta.url))

const ids = allOperations.map(({ id }) => id)

describe('a contract of all nine', () => {
  test.each(['small.yaml', 'split/contract.yaml'])('%s has neither problems nor warnings', (name) => {
    const { contract, problems, warnings } = loadContract(files, name)

    expect([problems, warnings]).toEqual([[], []])
    expect(Object.keys(contract?.operations ?? {}).toSorted()).toEqual(ids.toSorted())
    expect(JSON.stringify(contract?.document)).not.toMatch(/"\$ref":"[^#]/)
  })

  test('one of 200 KB is compiled within seconds', { timeout: 120_000 }, () => {
    const text = JSON.stringify(largeContract())
    const yaml = stringify(largeContract())
    const folder = folderWith({ 'contract.json': text, 'contract.yaml': yaml })

    for (const [name, size] of [
      ['contract.json', text.length],
      ['contract.yaml', yaml.length],
    ] as const) {
      const start = performance.now()
      const { contract, problems, warnings } = loadContract(folder, name)
      const took = performance.now() - start
      console.log(`${name}: ${size} bytes, ${Math.round(took)} ms, code of ${contract?.code.length} characters`)

      expect([problems, warnings]).toEqual([[], []])
      expect(size).toBeGreaterThan(200_000)
      expect(contract && createValidators(contract)).not.toBeNull()
    }
  })
})

test('the operations of the nine that it leaves out are a notice', () => {
  const folder = folderWith({ 'contract.json': JSON.stringify(sampleContract) })

  const { warnings } = loadContract(folder, 'contract.json')

  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toMatchObject({
    message: '7 of the nine are not in the contract: nothing of them is checked',
    line: 1,
    path: 'paths',
    hint: expect.stringContaining('add them without listen.basePath'),
  })
})

test('a parameter that two operations share is checked by its own schema in both', () => {
  const shared = { name: 'page', in: 'query', schema: { $ref: '#/components/schemas/Page' } }
  const get = (...more: readonly unknown[]): object => ({
    get: { parameters: [{ $ref: '#/components/parameters/Page' }, ...more], responses: { 200: { description: 'ok' } } },
  })
  const folder = folderWith({
    'contract.json': JSON.stringify({
      openapi: '3.1.1',
      info: { title: 'test', version: '1' },
      paths: {
        '/leads/pipeline': get(),
        '/market/insights': get({ name: 'state', in: 'query', schema: { enum: ['open'] } }),
      },
      components: { parameters: { Page: shared }, schemas: { Page: { type: 'integer' } } },
    }),
  })

  const { contract } = loadContract(folder, 'contract.json')

  const [page, state] = contract?.operations['market.insights']?.request.parameters ?? []
  const validators = contract && createValidators(contract)
  const check = (schema: string | null | undefined, value: unknown) =>
    validators?.validate(schema ?? '', value, 'query', { bytes: 100 }).map(({ rule }) => rule)
  expect([check(page?.schema, 7), check(page?.schema, 'open')]).toEqual([[], ['type']])
  expect([check(state?.schema, 'open'), check(state?.schema, 7)]).toEqual([[], ['enum']])
})

describe('OpenAPI 3.0', () => {
  const body = (schema: unknown): object => ({
    openapi: '3.0.4',
    info: { title: 'test', version: '1' },
    paths: {
      '/valuation/score': {
        post: {
          requestBody: { content: { 'application/json': { schema } } },
          responses: { 200: { description: 'scored' } },
        },
      },
    },
  })

  test('is read as 3.1, with a warning of what is lost', () => {
    const schema = {
      type: 'object',
      properties: {
        name: { type: 'string', nullable: true, example: 'x' },
        amount: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: false },
        any: { nullable: true },
      },
    }
    const folder = folderWith({ 'contract.json': JSON.stringify(body(schema), null, 1) })

    const { contract, problems, warnings } = loadContract(folder, 'contract.json')

    expect(problems).toEqual([])
    expect(warnings.map(({ message, line }) => [message, line])).toEqual([
      ['OpenAPI 3.0 is read as 3.1: what stands beside a $ref, and nullable without a type, is lost', 2],
      ['8 of the nine are not in the contract: nothing of them is checked', 7],
      ['this does nothing in OpenAPI 3.0: nullable without type', 28],
    ])
    expect(contract?.document).toMatchObject({ openapi: '3.1.1' })
    expect(JSON.stringify(contract?.document)).toContain(
      JSON.stringify({
        name: { type: ['string', 'null'], examples: ['x'] },
        amount: { type: 'number', exclusiveMinimum: 0, maximum: 10 },
        any: {},
      }),
    )
  })
})

test('the members and items of a parameter are also those of allOf, anyOf and oneOf', () => {
  const filter = {
    allOf: [
      { type: 'object', properties: { a: { $ref: '#/components/schemas/Count' } } },
      { properties: { a: { minimum: 1 }, b: { type: 'boolean' } } },
    ],
  }
  const ids = { oneOf: [{ type: 'array', items: { type: 'integer' } }, { type: 'null' }] }
  const { post } = sampleContract.paths['/valuation/score']
  const parameters = [
    { name: 'filter', in: 'query', style: 'deepObject', schema: filter },
    { name: 'ids', in: 'query', schema: ids },
  ]
  const schemas = { ...sampleContract.components.schemas, Count: { type: 'integer' } }
  const paths = { '/valuation/score': { post: { ...post, parameters } } }
  const text = JSON.stringify({ ...sampleContract, paths, components: { schemas } })

  const { contract } = loadContract(folderWith({ 'contract.json': text }), 'contract.json')

  expect(contract?.operations['valuation.score']?.request.parameters).toMatchObject([
    { name: 'filter', memberTypes: { a: ['integer'], b: ['boolean'] } },
    { name: 'ids', itemTypes: ['integer'] },
  ])
})

test.each(['100%', 'a%2Fb', 'a/b', 'a~1b'])('a fault below a member "%s" is told where it is', (name) => {
  const schema = { type: 'object', properties: { [name]: { type: 5 } } }
  const requestBody = { content: { 'application/json': { schema } } }
  const paths = { '/valuation/score': { post: { requestBody, responses: {} } } }
  const folder = folderWith({ 'contract.json': JSON.stringify({ ...sampleContract, paths }) })

  const { problems } = loadContract(folder, 'contract.json')

  expect(problems).toMatchObject([
    {
      path: `paths."/valuation/score".post.requestBody.content."application/json".schema.properties."${name}".type`,
      found: '5',
    },
  ])
})

describe('members of deepObject', () => {
  const load = (schema: unknown) => {
    const parameters = [{ name: 'filter', in: 'query', style: 'deepObject', schema }]
    const get = { parameters, responses: { 200: { description: 'ok' } } }
    const schemas = { Place: { type: 'object' }, Ids: { type: 'array', items: { type: 'integer' } } }
    const document = { openapi: '3.1.1', paths: { '/market/insights': { get } }, components: { schemas } }
    return loadContract(folderWith({ 'contract.json': JSON.stringify(document) }), 'contract.json')
  }
  const ids = { $ref: '#/components/schemas/Ids' }

  test('that are arrays have the types of their items', () => {
    const properties = {
      ids,
      tags: { type: 'array' },
      flags: { oneOf: [{ type: 'array', items: { type: 'boolean' } }] },
    }

    const { contract, problems } = load({ type: 'object', properties, additionalProperties: ids })

    expect(problems).toEqual([])
    expect(contract?.operations['market.insights']?.request.parameters[0]).toMatchObject({
      memberItemTypes: { ids: ['integer'], tags: [], flags: ['boolean'] },
      otherItemTypes: ['integer'],
    })
  })

  const at = 'paths."/market/insights".get.parameters[0]'
  test.each([
    ['an object', { properties: { place: { type: 'object' } } }, `${at}.schema.properties.place`],
    [
      'an object by reference',
      { properties: { a: { $ref: '#/components/schemas/Place' } } },
      `${at}.schema.properties.a`,
    ],
    ['a list of lists', { properties: { a: { type: 'array', items: ids } } }, `${at}.schema.properties.a`],
    ['any object', { additionalProperties: { type: 'object' } }, `${at}.schema.additionalProperties`],
    ['a parameter that is no object', { type: 'array' }, `${at}.style`],
  ])('cannot be %s: check says it where it stands', (_, schema, path) => {
    const { problems } = load({ type: 'object', ...schema })

    expect(problems.map((each) => each.path)).toEqual([path])
    expect(problems[0]?.message).toContain('deepObject')
  })

  test('may be an object or a text', () => {
    expect(load({ type: 'object', properties: { a: { type: ['object', 'string'] }, b: {} } }).problems).toEqual([])
  })
})
