import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createValidators } from '../../../../src/features/contract/check/validators.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { allOperations } from '../../../../src/operations.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { sampleContract } from '../../../helpers/contract.ts'
import { insights, jsonOf, load, scoring, scoringSchema } from './loading.ts'

test('a contract of all nine, in several files, has neither problems nor warnings', () => {
  const paths = allOperations.map(({ path, method }) => `  ${path}: { $ref: parts/operations.yaml#/${method} }\n`)
  const folder = folderWith({
    'contract.yaml': `openapi: 3.1.1
info: { title: Lender integration in files, version: 2.0.0 }
paths:\n${paths.join('')}components: { schemas: { Money: { type: object, properties: { amount: { pattern: '^\\d+$' } } } } }\n`,
  })
  mkdirSync(join(folder, 'parts'))
  const operations = `GET: { get: { parameters: [{ $ref: others.json#/limit }], responses: { 200: { $ref: '#/grade' } } } }
POST: { post: { requestBody: { $ref: others.json#/body }, responses: { 200: { $ref: '#/grade' } } } }
grade: { description: a grade, content: { application/json: { schema: { $ref: others.json#/Grade } } } }\n`
  writeFileSync(join(folder, 'parts', 'operations.yaml'), operations)
  const body = jsonOf({ type: ['object', 'array'], items: { $ref: '../contract.yaml#/components/schemas/Money' } })
  const limit = { name: 'limit', in: 'query', schema: { type: 'integer' } }
  const others = { body, limit, Grade: { enum: ['A', 'B'] } }
  writeFileSync(join(folder, 'parts', 'others.json'), JSON.stringify(others))

  const { contract, problems, warnings } = loadContract(folder, 'contract.yaml')

  expect([problems, warnings]).toEqual([[], []])
  expect(Object.keys(contract?.operations ?? {}).toSorted()).toEqual(allOperations.map(({ id }) => id).toSorted())
  expect(JSON.stringify(contract?.document)).not.toMatch(/"\$ref":"[^#]/)
})

test('the operations of the nine that it leaves out are a notice', () => {
  const message = '7 of the nine are not in the contract: nothing of them is checked'
  const hint = expect.stringContaining('add them without listen.basePath')

  expect(load(sampleContract).warnings).toMatchObject([{ message, line: 1, path: 'paths', hint }])
})

test('a parameter that two operations share is checked by its own schema in both', () => {
  const responses = { 200: { description: 'ok' } }
  const page = { $ref: '#/components/parameters/Page' }
  const inState = { name: 'state', in: 'query', schema: { enum: ['open'] } }
  const Page = { name: 'page', in: 'query', schema: { $ref: '#/components/schemas/Page' } }
  const { contract } = load({
    openapi: '3.1.1',
    paths: {
      '/leads/pipeline': { get: { parameters: [page], responses } },
      '/market/insights': { get: { parameters: [page, inState], responses } },
    },
    components: { parameters: { Page }, schemas: { Page: { type: 'integer' } } },
  })

  const validators = contract && createValidators(contract)
  const parameters = contract?.operations['market.insights']?.request.parameters ?? []
  const rules = [7, 'open'].map((value) =>
    parameters.map(({ schema }) => validators?.validate(schema ?? '', value, 'query', { bytes: 9 })[0]?.rule),
  )
  expect(rules.flat()).toEqual([undefined, 'enum', 'type', undefined])
})

test('OpenAPI 3.0 is read as 3.1, with a warning of what is lost', () => {
  const properties = {
    name: { type: 'string', nullable: true, example: 'x' },
    amount: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: false },
    any: { nullable: true },
  }
  const text = JSON.stringify({ ...scoring({ type: 'object', properties }), openapi: '3.0.4' }, null, 1)

  const { contract, problems, warnings } = loadContract(folderWith({ 'contract.json': text }), 'contract.json')

  expect(problems).toEqual([])
  expect(warnings.map(({ message, line }) => [message, line])).toEqual([
    ['OpenAPI 3.0 is read as 3.1: what stands beside a $ref, and nullable without a type, is lost', 2],
    ['8 of the nine are not in the contract: nothing of them is checked', 3],
    ['this does nothing in OpenAPI 3.0: nullable without type', 24],
  ])
  expect(contract?.document).toMatchObject({ openapi: '3.1.1' })
  const amount = { type: 'number', exclusiveMinimum: 0, maximum: 10 }
  const read = { name: { type: ['string', 'null'], examples: ['x'] }, amount, any: {} }
  expect(JSON.stringify(contract?.document)).toContain(JSON.stringify(read))
})

test('the members and items of a parameter are also those of allOf, anyOf and oneOf', () => {
  const one = { type: 'object', properties: { a: { $ref: '#/components/schemas/Count' } } }
  const filter = { allOf: [one, { properties: { a: { minimum: 1 }, b: { type: 'boolean' } } }] }
  const ids = { oneOf: [{ type: 'array', items: { type: 'integer' } }, { type: 'null' }] }
  const parameters = [
    { name: 'filter', in: 'query', style: 'deepObject', schema: filter },
    { name: 'ids', in: 'query', schema: ids },
  ]

  const { contract } = load(insights({ parameters }, { components: { schemas: { Count: { type: 'integer' } } } }))

  expect(contract?.operations['market.insights']?.request.parameters).toMatchObject([
    { name: 'filter', memberTypes: { a: ['integer'], b: ['boolean'] } },
    { name: 'ids', itemTypes: ['integer'] },
  ])
})

test.each(['100%', 'a/b~1c'])('a fault below a member "%s" is told where it is', (name) => {
  const { problems } = load(scoring({ type: 'object', properties: { [name]: { type: 5 } } }))

  expect(problems).toMatchObject([{ path: `${scoringSchema}.properties."${name}".type`, found: '5' }])
})

describe('members of deepObject', () => {
  const schemas = { Place: { type: 'object' }, Ids: { type: 'array', items: { type: 'integer' } } }
  const loadParameter = (schema: object) => {
    const parameters = [{ name: 'filter', in: 'query', style: 'deepObject', schema: { type: 'object', ...schema } }]
    return load(insights({ parameters }, { components: { schemas } }))
  }
  const ids = { $ref: '#/components/schemas/Ids' }

  test('that are arrays have the types of their items', () => {
    const flags = { oneOf: [{ type: 'array', items: { type: 'boolean' } }] }
    const properties = { ids, tags: { type: 'array' }, flags }

    const { contract, problems } = loadParameter({ properties, additionalProperties: ids })

    expect(problems).toEqual([])
    expect(contract?.operations['market.insights']?.request.parameters[0]).toMatchObject({
      memberItemTypes: { ids: ['integer'], tags: [], flags: ['boolean'] },
      otherItemTypes: ['integer'],
    })
  })

  test.each([
    ['an object by reference', { properties: { a: { $ref: '#/components/schemas/Place' } } }, 'schema.properties.a'],
    ['a list of lists', { properties: { a: { type: 'array', items: ids } } }, 'schema.properties.a'],
    ['any object', { additionalProperties: { type: 'object' } }, 'schema.additionalProperties'],
    ['a parameter that is no object', { type: 'array' }, 'style'],
  ])('cannot be %s: check says it where it stands', (_, schema, path) => {
    expect(loadParameter(schema).problems).toMatchObject([
      { path: `paths."/market/insights".get.parameters[0].${path}`, message: expect.stringContaining('deepObject') },
    ])
  })

  test('may be an object or a text', () => {
    expect(loadParameter({ properties: { a: { type: ['object', 'string'] }, b: {} } }).problems).toEqual([])
  })
})

/** A contract of 3.2 with what is new there and means nothing for a check. */
const harmless = {
  ...insights({
    responses: {
      200: {
        summary: 'found',
        content: { 'application/json': {}, 'multipart/mixed': { prefixEncoding: [{}], itemEncoding: {} } },
      },
    },
  }),
  openapi: '3.2.0',
  $self: 'https://bank.example/contract.json',
  jsonSchemaDialect: 'https://spec.openapis.org/oas/3.2/dialect/2025-09-17',
  tags: [{ name: 'a', summary: 'A', parent: 'b', kind: 'nav' }, { name: 'b' }],
  components: {
    mediaTypes: { Unused: { itemSchema: { type: 'object' } } },
    schemas: {
      Asset: {
        type: 'object',
        discriminator: { propertyName: 'kind', defaultMapping: '#/components/schemas/Asset' },
        xml: { nodeType: 'none', name: 'asset' },
      },
    },
  },
}

describe('a document of OpenAPI 3.2', () => {
  test('may have what is new and checks nothing: the document that is printed, of 3.1, has none of it', () => {
    const { contract, problems, warnings } = load(harmless)
    const text = JSON.stringify(contract?.document)
    const again = load(JSON.parse(text))

    expect(problems).toEqual([])
    expect(warnings.map(({ found }) => found)).toContain('prefixEncoding')
    expect(text).not.toMatch(/\$self|found|defaultMapping|nodeType|itemSchema|prefixEncoding/)
    expect(contract?.document).toMatchObject({
      openapi: '3.1.1',
      components: { schemas: { Asset: { discriminator: { propertyName: 'kind' }, xml: { name: 'asset' } } } },
    })
    expect([again.problems, again.contract?.code]).toEqual([[], contract?.code])
  })

  // OpenAPI 3.2 §4.1.1: $self is the base of relative references, wherever the file lies.
  test('with $self refers to no file', () => {
    const schemas = { Asset: { $ref: 'parts.json#/Asset' } }
    const without = scoring({ $ref: '#/components/schemas/Asset' }, { openapi: '3.2.0', components: { schemas } })
    const parts = { 'parts.json': '{"Asset":{"type":"object"}}' }

    expect(
      load({ ...without, $self: harmless.$self }, parts).problems.map(({ path, message }) => [path, message]),
    ).toEqual([['components.schemas.Asset."$ref"', 'the reference starts at the $self of its file, which is not read']])
    expect(load(without, parts).problems).toEqual([])
  })

  test.each(['https://spec.openapis.org/oas/3.2/dialect/2026-02-26', 'https://spec.openapis.org/oas/3.1/dialect/base'])(
    'may be of the dialect %s, and of no unknown one',
    (jsonSchemaDialect) => {
      expect(load({ ...harmless, jsonSchemaDialect }).problems).toEqual([])
      expect(load({ ...harmless, jsonSchemaDialect: `${jsonSchemaDialect}x` }).problems).toMatchObject([
        { path: 'jsonSchemaDialect', message: 'the schemas are of another dialect' },
      ])
    },
  )
})

describe('what no message can keep gets a warning:', () => {
  /** The warnings of a contract with a request, a response and components, less those of what it leaves out. */
  const warningsOf = (request: unknown, response: unknown, schemas: object = {}, openapi = '3.1.1') => {
    const responses = { 200: { description: 'scored', ...jsonOf(response) } }
    const paths = { '/valuation/score': { post: { requestBody: jsonOf(request), responses } } }
    const { problems, warnings } = load({ openapi, paths, components: { schemas } })
    expect(problems).toEqual([])
    return warnings
      .filter(({ message }) => /break/.test(message))
      .map(({ path, message, found }) => [path.replace(/^paths.*"application.json"/, ''), message, found])
  }
  const grade = { type: 'string', enum: ['A', 'B'], nullable: true }
  const noNull = [
    '.schema.enum',
    'null breaks this: the enumeration does not have it, though the type has',
    'no null among the values',
  ]

  test.each([
    ['3.0.4', grade, [noNull]],
    ['3.0.4', { ...grade, enum: ['A', null] }, []],
    ['3.1.1', { type: ['string', 'null'], enum: ['A'] }, [noNull]],
    ['3.1.1', { type: 'string', enum: ['A'] }, []],
  ])('a nullable enumeration without null: OpenAPI %s, %j', (openapi, schema, expected) => {
    expect(warningsOf(schema, {}, {}, openapi)).toEqual(expected)
  })

  test('a member that is required in the direction to which it does not belong', () => {
    const pin = { $ref: '#/components/schemas/Pin' }
    const Asset = { required: ['id', 'pin', 'amount'], properties: { id: { readOnly: true }, pin, amount: {} } }
    const schemas = { Asset, Pin: { type: 'string', writeOnly: true } }
    const list = { type: 'array', items: { $ref: '#/components/schemas/Asset' } }
    const at = 'components.schemas.Asset.required'
    const does = 'without it break the contract:'
    const ofRequests = [`${at}[0]`, `requests ${does} readOnly does nothing`, '"id", which is readOnly']
    const ofResponses = [`${at}[1]`, `responses ${does} writeOnly does nothing`, '"pin", which is writeOnly']

    expect(warningsOf(list, {}, schemas)).toEqual([ofRequests])
    expect(warningsOf({}, list, schemas)).toEqual([ofResponses])
    expect(warningsOf(list, list, schemas)).toEqual([ofRequests, ofResponses])
  })

  test('a member that one part of allOf requires, of which another one says that it does not belong there', () => {
    const request = { allOf: [{ properties: { id: { readOnly: true } } }], required: ['id'] }

    expect(warningsOf(request, {})).toEqual([['.schema.required[0]', expect.any(String), '"id", which is readOnly']])
  })
})
