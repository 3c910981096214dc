import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createValidators } from '../../../../src/features/contract/check/validators.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { allOperations } from '../../../../src/operations.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { sampleContract } from '../../../helpers/contract.ts'

const files = fileURLToPath(new URL('files/', import.meta.url))

const ids = allOperations.map(({ id }) => id)

/** Loads a contract from a new folder, with other files beside it. */
const load = (document: object, files: Readonly<Record<string, string>> = {}) =>
  loadContract(folderWith({ ...files, 'contract.json': JSON.stringify(document) }), 'contract.json')

test('a contract of all nine, in several files, has neither problems nor warnings', () => {
  const { contract, problems, warnings } = loadContract(files, 'contract.yaml')

  expect([problems, warnings]).toEqual([[], []])
  expect(Object.keys(contract?.operations ?? {}).toSorted()).toEqual(ids.toSorted())
  expect(JSON.stringify(contract?.document)).not.toMatch(/"\$ref":"[^#]/)
})

test('the operations of the nine that it leaves out are a notice', () => {
  const { warnings } = load(sampleContract)

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
  const inState = { name: 'state', in: 'query', schema: { enum: ['open'] } }

  const { contract } = load({
    openapi: '3.1.1',
    paths: { '/leads/pipeline': get(), '/market/insights': get(inState) },
    components: { parameters: { Page: shared }, schemas: { Page: { type: 'integer' } } },
  })

  const [page, state] = contract?.operations['market.insights']?.request.parameters ?? []
  const validators = contract && createValidators(contract)
  const check = (schema: string | null | undefined, value: unknown) =>
    validators?.validate(schema ?? '', value, 'query', { bytes: 100 }).map(({ rule }) => rule)
  expect([check(page?.schema, 7), check(page?.schema, 'open')]).toEqual([[], ['type']])
  expect([check(state?.schema, 'open'), check(state?.schema, 7)]).toEqual([[], ['enum']])
})

test('OpenAPI 3.0 is read as 3.1, with a warning of what is lost', () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', nullable: true, example: 'x' },
      amount: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: false },
      any: { nullable: true },
    },
  }
  const requestBody = { content: { 'application/json': { schema } } }
  const paths = { '/valuation/score': { post: { requestBody, responses: { 200: { description: 'scored' } } } } }
  const folder = folderWith({ 'contract.json': JSON.stringify({ openapi: '3.0.4', paths }, null, 1) })

  const { contract, problems, warnings } = loadContract(folder, 'contract.json')

  expect(problems).toEqual([])
  expect(warnings.map(({ message, line }) => [message, line])).toEqual([
    ['OpenAPI 3.0 is read as 3.1: what stands beside a $ref, and nullable without a type, is lost', 2],
    ['8 of the nine are not in the contract: nothing of them is checked', 3],
    ['this does nothing in OpenAPI 3.0: nullable without type', 24],
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

  const { contract } = load({ ...sampleContract, paths, components: { schemas } })

  expect(contract?.operations['valuation.score']?.request.parameters).toMatchObject([
    { name: 'filter', memberTypes: { a: ['integer'], b: ['boolean'] } },
    { name: 'ids', itemTypes: ['integer'] },
  ])
})

test.each(['100%', 'a/b~1c'])('a fault below a member "%s" is told where it is', (name) => {
  const schema = { type: 'object', properties: { [name]: { type: 5 } } }
  const requestBody = { content: { 'application/json': { schema } } }
  const paths = { '/valuation/score': { post: { requestBody, responses: {} } } }

  const { problems } = load({ ...sampleContract, paths })

  expect(problems).toMatchObject([
    {
      path: `paths."/valuation/score".post.requestBody.content."application/json".schema.properties."${name}".type`,
      found: '5',
    },
  ])
})

describe('members of deepObject', () => {
  const loadParameter = (schema: unknown) => {
    const parameters = [{ name: 'filter', in: 'query', style: 'deepObject', schema }]
    const get = { parameters, responses: { 200: { description: 'ok' } } }
    const schemas = { Place: { type: 'object' }, Ids: { type: 'array', items: { type: 'integer' } } }
    return load({ openapi: '3.1.1', paths: { '/market/insights': { get } }, components: { schemas } })
  }
  const ids = { $ref: '#/components/schemas/Ids' }

  test('that are arrays have the types of their items', () => {
    const properties = {
      ids,
      tags: { type: 'array' },
      flags: { oneOf: [{ type: 'array', items: { type: 'boolean' } }] },
    }

    const { contract, problems } = loadParameter({ type: 'object', properties, additionalProperties: ids })

    expect(problems).toEqual([])
    expect(contract?.operations['market.insights']?.request.parameters[0]).toMatchObject({
      memberItemTypes: { ids: ['integer'], tags: [], flags: ['boolean'] },
      otherItemTypes: ['integer'],
    })
  })

  const at = 'paths."/market/insights".get.parameters[0]'
  test.each([
    [
      'an object by reference',
      { properties: { a: { $ref: '#/components/schemas/Place' } } },
      `${at}.schema.properties.a`,
    ],
    ['a list of lists', { properties: { a: { type: 'array', items: ids } } }, `${at}.schema.properties.a`],
    ['any object', { additionalProperties: { type: 'object' } }, `${at}.schema.additionalProperties`],
    ['a parameter that is no object', { type: 'array' }, `${at}.style`],
  ])('cannot be %s: check says it where it stands', (_, schema, path) => {
    const { problems } = loadParameter({ type: 'object', ...schema })

    expect(problems.map((each) => each.path)).toEqual([path])
    expect(problems[0]?.message).toContain('deepObject')
  })

  test('may be an object or a text', () => {
    expect(
      loadParameter({ type: 'object', properties: { a: { type: ['object', 'string'] }, b: {} } }).problems,
    ).toEqual([])
  })
})

/** A contract of 3.2 with what is new there and means nothing for a check. */
const harmless = {
  ...sampleContract,
  openapi: '3.2.0',
  $self: 'https://bank.example/contract.json',
  jsonSchemaDialect: 'https://spec.openapis.org/oas/3.2/dialect/2025-09-17',
  tags: [
    { name: 'a', summary: 'A' },
    { name: 'b', parent: 'a', kind: 'nav' },
  ],
  paths: {
    ...sampleContract.paths,
    '/market/insights': {
      get: {
        ...sampleContract.paths['/market/insights'].get,
        responses: {
          200: {
            summary: 'found',
            content: {
              'application/json': {},
              'multipart/mixed': { prefixEncoding: [{}], itemEncoding: {} },
            },
          },
        },
      },
    },
  },
  components: {
    ...sampleContract.components,
    mediaTypes: { Unused: { itemSchema: { type: 'object' } } },
    schemas: {
      ...sampleContract.components.schemas,
      Asset: {
        ...sampleContract.components.schemas.Asset,
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
    const schemas = { Asset: { $ref: 'parts.json#/Asset' }, Other: { $ref: '#/components/schemas/Asset' } }
    const { $self, ...without } = { ...harmless, components: { schemas } }
    const parts = { 'parts.json': '{"Asset":{"type":"object"}}' }

    expect(load({ ...without, $self }, parts).problems.map(({ path, message }) => [path, message])).toEqual([
      ['components.schemas.Asset."$ref"', 'the reference starts at the $self of its file, which is not read'],
    ])
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

/** The warnings of a contract with a request, a response and components, less those of what it leaves out. */
const warningsOf = (request: unknown, response: unknown, schemas: object = {}, openapi = '3.1.1') => {
  const content = (schema: unknown) => ({ content: { 'application/json': { schema } } })
  const document = {
    openapi,
    paths: {
      '/valuation/score': {
        post: { requestBody: content(request), responses: { 200: { description: 'scored', ...content(response) } } },
      },
    },
    components: { schemas },
  }
  const { problems, warnings } = load(document)
  expect(problems).toEqual([])
  return warnings
    .filter(({ message }) => /break/.test(message))
    .map(({ path, message, found }) => [path.replace(/^paths.*"application.json"/, ''), message, found])
}

const noNull = 'null breaks this: the enumeration does not have it, though the type has'

test('a nullable enumeration without null gets a warning, in OpenAPI 3.0 and 3.1', () => {
  const grade = { type: 'string', enum: ['A', 'B'], nullable: true }
  const found = 'no null among the values'

  expect(warningsOf(grade, {}, {}, '3.0.4')).toEqual([['.schema.enum', noNull, found]])
  expect(warningsOf({ ...grade, enum: ['A', null] }, {}, {}, '3.0.4')).toEqual([])
  expect(warningsOf({ type: ['string', 'null'], enum: ['A'] }, {})).toEqual([['.schema.enum', noNull, found]])
  expect(warningsOf({ type: 'string', enum: ['A'] }, {})).toEqual([])
})

test('a member that is required in the direction to which it does not belong gets a warning', () => {
  const Asset = {
    type: 'object',
    required: ['id', 'pin', 'amount'],
    properties: { id: { readOnly: true }, pin: { $ref: '#/components/schemas/Pin' }, amount: {} },
  }
  const schemas = { Asset, Pin: { type: 'string', writeOnly: true } }
  const list = { type: 'array', items: { $ref: '#/components/schemas/Asset' } }
  const id = [
    'components.schemas.Asset.required[0]',
    'requests without it break the contract: readOnly does nothing',
    '"id", which is readOnly',
  ]
  const pin = [
    'components.schemas.Asset.required[1]',
    'responses without it break the contract: writeOnly does nothing',
    '"pin", which is writeOnly',
  ]

  expect(warningsOf(list, {}, schemas)).toEqual([id])
  expect(warningsOf({}, list, schemas)).toEqual([pin])
  expect(warningsOf(list, list, schemas)).toEqual([id, pin])
})

test('a part of allOf may require what another one says', () => {
  const request = { allOf: [{ properties: { id: { readOnly: true } } }], required: ['id'] }

  expect(warningsOf(request, {})).toEqual([['.schema.required[0]', expect.any(String), '"id", which is readOnly']])
})
