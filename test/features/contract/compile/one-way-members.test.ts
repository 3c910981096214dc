import { describe, expect, test } from 'vitest'
import { createValidators } from '../../../../src/features/contract/check/validators.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { folderWith } from '../../../core/config/helper.ts'

const content = (schema: unknown) => ({ content: { 'application/json': { schema } } })
const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const readOnly = { type: 'string', readOnly: true }
const writeOnly = { type: 'string', writeOnly: true }

/** Reads a contract of these paths. */
const read = (paths: object, schemas: object = {}, openapi = '3.0.3') => {
  const document = { openapi, paths, components: { schemas } }
  return loadContract(folderWith({ 'contract.json': JSON.stringify(document) }), 'contract.json')
}

const loadPaths: typeof read = (...given) => {
  const loaded = read(...given)
  expect(loaded.problems).toEqual([])
  return loaded
}

const bothWays = (schema: unknown): object => ({
  '/valuation/score': {
    post: { requestBody: content(schema), responses: { 200: { description: 'scored', ...content(schema) } } },
  },
})

/** Loads a contract whose request and response have one schema. */
const load = (schema: unknown, ...more: readonly [schemas?: object, openapi?: string]) =>
  loadPaths(bothWays(schema), ...more)

/** Lists what a value breaks as a request, and as a response. */
const checkBoth = ({ contract }: ReturnType<typeof load>, value: unknown) => {
  if (contract === null) throw new Error('there is no contract')
  const { request, responses } = contract.operations['valuation.score'] ?? {}
  const validators = createValidators(contract)
  const check = (schema: string | null | undefined) =>
    validators.validate(schema ?? '', value, 'body', { bytes: 100 }).map(({ pointer, rule }) => `${pointer} ${rule}`)
  return [check(request?.body?.content[0]?.schema), check(responses?.[0]?.content?.[0]?.schema)]
}

const contractSchemas = ({ contract }: ReturnType<typeof load>): unknown =>
  Object(Object(contract?.document).components).schemas

const asset = {
  type: 'object',
  required: ['id', 'pin', 'amount'],
  properties: { id: readOnly, pin: writeOnly, amount: { type: 'integer' } },
}

type Wrap = (value: object) => unknown
const itself: Wrap = (value) => value

// OpenAPI 3.0.3, Schema Object: "If the property is marked as readOnly being true and is in the required list, the
// required will take effect on the response only", and for writeOnly on the request only.
describe('in OpenAPI 3.0, required takes effect in one direction', () => {
  test.each<[string, unknown, object, Wrap, string]>([
    ['by reference', refTo('Asset'), { Asset: asset }, itself, ''],
    ['in a list', { type: 'array', items: refTo('Asset') }, { Asset: asset }, (value) => [value], '/0'],
    ['in a member', { properties: { a: refTo('Asset') } }, { Asset: asset }, (value) => ({ a: value }), '/a'],
    ['in any member', { additionalProperties: refTo('Asset') }, { Asset: asset }, (value) => ({ id: value }), '/id'],
    [
      'where one part of allOf requires what another one marks',
      { allOf: [refTo('Members'), { required: asset.required }] },
      { Members: { properties: asset.properties } },
      itself,
      '',
    ],
    [
      'where a part by reference requires what stands beside it',
      { allOf: [refTo('Base')], properties: asset.properties },
      { Base: { allOf: [{ required: asset.required }] } },
      itself,
      '',
    ],
    [
      'where the members are marked by a reference, and around one',
      { ...asset, properties: { id: refTo('Id'), pin: { allOf: [refTo('Text')], writeOnly: true } } },
      { Id: { allOf: [readOnly] }, Text: { type: 'string' } },
      itself,
      '',
    ],
    [
      'where each branch marks them',
      { required: asset.required, anyOf: [refTo('Members'), { properties: asset.properties }] },
      { Members: { properties: asset.properties } },
      itself,
      '',
    ],
  ])('%s', (_, schema, schemas, wrap, at) => {
    const loaded = load(schema, schemas)
    const check = (value: object) => checkBoth(loaded, wrap(value))

    expect(check({ amount: 1 })).toEqual([[`${at}/pin required`], [`${at}/id required`]])
    expect(check({ pin: 'a', id: 'b' })).toEqual([[`${at}/amount required`], [`${at}/amount required`]])
    expect(check({ id: 'a', pin: 'b', amount: 1 })).toEqual([[], []])
    expect(loaded.warnings.filter(({ message }) => message.includes('break'))).toEqual([])
  })

  test('in a schema that leads to itself, at each level', () => {
    const Asset = { ...asset, properties: { ...asset.properties, parts: { type: 'array', items: refTo('Asset') } } }

    const [request, response] = checkBoth(load(refTo('Asset'), { Asset }), { amount: 1, parts: [{ amount: 1 }] })

    expect(request?.toSorted()).toEqual(['/parts/0/pin required', '/pin required'])
    expect(response?.toSorted()).toEqual(['/id required', '/parts/0/id required'])
  })

  test('of a parameter that is an object, and of a field', () => {
    const parameters = [{ name: 'filter', in: 'query', style: 'deepObject', schema: asset }]
    const headers = { 'X-Asset': { schema: refTo('Asset') } }
    const get = { parameters, responses: { 200: { description: 'found', headers } } }

    const { contract } = loadPaths({ '/market/insights': { get } }, { Asset: asset }, '3.0.4')

    const { request, responses } = contract?.operations['market.insights'] ?? {}
    const validators = contract && createValidators(contract)
    const check = (schema: string | null | undefined) =>
      validators?.validate(schema ?? '', { amount: 1 }, 'query', { bytes: 100 }).map(({ pointer }) => pointer)
    expect(check(request?.parameters[0]?.schema)).toEqual(['/pin'])
    expect(check(responses?.[0]?.headers[0]?.schema)).toEqual(['/id'])
  })

  test('stays in both where one branch of two does not mark the member, with a warning at its place', () => {
    const other = { properties: { id: { type: 'integer' } } }
    const schema = { required: ['amount', 'id'], anyOf: [{ properties: { id: readOnly } }, other] }

    const loaded = load(schema)

    expect(checkBoth(loaded, { amount: 1 })).toEqual([['/id required'], ['/id required']])
    expect(loaded.warnings.map(({ path }) => path.split('.').at(-1))).toContain('required[1]')
  })

  // With fewer names, `not` would match more, and refuse what is right.
  test('stays in what must not match', () => {
    const schema = { properties: { id: readOnly }, not: { required: ['id', 'amount'] } }

    expect(checkBoth(load(schema), { amount: 1 })).toEqual([[], []])
    expect(checkBoth(load(schema), { id: 'a', amount: 1 })).toEqual([[' not'], [' not']])
  })

  test('with a mistake inside, it is told once, at its place', () => {
    const bad = { ...asset, properties: { ...asset.properties, amount: { pattern: '(' } } }
    const { problems } = read(bothWays(refTo('Bad')), { Bad: bad })

    expect(problems.map(({ path }) => path)).toEqual(['components.schemas.Bad.properties.amount.pattern'])
  })
})

test('the document that is printed says the same of both directions, in 3.1', () => {
  const { contract } = load(refTo('Asset'), { Asset: asset, Plain: { required: ['a'] }, 'Asset-request': {} })
  const again = loadContract(folderWith({ 'contract.json': JSON.stringify(contract?.document) }), 'contract.json')

  expect(contract?.document).toMatchObject({
    openapi: '3.1.1',
    components: {
      schemas: {
        Asset: { required: ['id', 'pin', 'amount'] },
        'Asset-request-2': { required: ['pin', 'amount'], properties: asset.properties },
        'Asset-response': { required: ['id', 'amount'], properties: asset.properties },
      },
    },
  })
  expect(checkBoth(again, { amount: 1 })).toEqual([['/pin required'], ['/id required']])
})

// JSON Schema Validation §9.4: they are annotations.
test('in OpenAPI 3.1 both directions require them', () => {
  const loaded = load(refTo('Asset'), { Asset: asset }, '3.1.1')

  expect(checkBoth(loaded, { amount: 1 })).toEqual([
    ['/id required', '/pin required'],
    ['/id required', '/pin required'],
  ])
  expect(Object.keys(Object(contractSchemas(loaded)))).toEqual(['Asset'])
})

test('a document of 3.0 without the words, or without required, keeps its components', () => {
  const plain = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } }
  const optional = { type: 'object', properties: { id: readOnly, pin: writeOnly } }

  for (const Asset of [plain, optional])
    expect(Object.keys(Object(contractSchemas(load(refTo('Asset'), { Asset }))))).toEqual(['Asset'])
})
