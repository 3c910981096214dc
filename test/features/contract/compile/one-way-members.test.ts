import { describe, expect, test } from 'vitest'
import { createValidators } from '../../../../src/features/contract/check/validators.ts'
import { insights, jsonOf, load as loadDocument } from './loading.ts'

type Loaded = ReturnType<typeof loadDocument>

const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const readOnly = { type: 'string', readOnly: true }
const writeOnly = { type: 'string', writeOnly: true }

/** Loads a contract whose request and response have one schema. */
const load = (schema: unknown, schemas: object = {}, openapi = '3.0.3') => {
  const responses = { 200: { description: 'scored', ...jsonOf(schema) } }
  const paths = { '/valuation/score': { post: { requestBody: jsonOf(schema), responses } } }
  return loadDocument({ openapi, paths, components: { schemas } })
}

/** Lists what a value breaks by the schemas of these names. */
const check = ({ contract, problems }: Loaded, value: unknown, ...schemas: readonly (string | null | undefined)[]) => {
  if (contract === null) throw new Error(JSON.stringify(problems))
  const validators = createValidators(contract)
  return schemas.map((schema) =>
    validators
      .validate(schema ?? '', value, 'body', { bytes: 100 })
      .map(({ pointer, rule }) => `${pointer} ${rule}`)
      .toSorted(),
  )
}

/** Lists what a value breaks as a request, and as a response. */
const checkBoth = (loaded: Loaded, value: unknown) => {
  const { request, responses } = loaded.contract?.operations['valuation.score'] ?? {}
  return check(loaded, value, request?.body?.content[0]?.schema, responses?.[0]?.content?.[0]?.schema)
}

const schemaNames = ({ contract }: Loaded): readonly string[] =>
  Object.keys(Object(Object(contract?.document).components).schemas)

const properties = { id: readOnly, pin: writeOnly, amount: { type: 'integer' } }
const required = ['id', 'pin', 'amount']
const asset = { type: 'object', required, properties }
const marking = { Members: { properties } }

type Wrap = (value: object) => unknown
const itself: Wrap = (value) => value

// OpenAPI 3.0.3, Schema Object: "If the property is marked as readOnly being true and is in the required list, the
// required will take effect on the response only", and for writeOnly on the request only.
describe('in OpenAPI 3.0, required takes effect in one direction', () => {
  const byReference = { id: refTo('Id'), pin: { allOf: [refTo('Text')], writeOnly: true } }
  const marked = { Id: { allOf: [readOnly] }, Text: { type: 'string' } }
  const listed: Wrap = (value) => [value]
  const asA: Wrap = (a) => ({ a })
  const asId: Wrap = (id) => ({ id })
  const besideBase = { allOf: [refTo('Base')], properties }
  const besideMembers = { allOf: [refTo('Members'), { required }] }
  const branches = { required, anyOf: [refTo('Members'), { properties }] }

  test.each<[string, unknown, object, Wrap, string]>([
    ['by reference', refTo('Asset'), { Asset: asset }, itself, ''],
    ['in a list', { type: 'array', items: refTo('Asset') }, { Asset: asset }, listed, '/0'],
    ['in a member', { properties: { a: refTo('Asset') } }, { Asset: asset }, asA, '/a'],
    ['in any member', { additionalProperties: refTo('Asset') }, { Asset: asset }, asId, '/id'],
    ['where one part of allOf requires what another marks', besideMembers, marking, itself, ''],
    ['where a part requires what stands beside it', besideBase, { Base: { allOf: [{ required }] } }, itself, ''],
    ['where references mark, or stand in what does', { ...asset, properties: byReference }, marked, itself, ''],
    ['where each branch marks them', branches, marking, itself, ''],
  ])('%s', (_, schema, schemas, wrap, at) => {
    const loaded = load(schema, schemas)
    const check = (value: object) => checkBoth(loaded, wrap(value))

    expect(check({ amount: 1 })).toEqual([[`${at}/pin required`], [`${at}/id required`]])
    expect(check({ pin: 'a', id: 'b' })).toEqual([[`${at}/amount required`], [`${at}/amount required`]])
    expect(check({ id: 'a', pin: 'b', amount: 1 })).toEqual([[], []])
    expect(loaded.warnings.filter(({ message }) => message.includes('break'))).toEqual([])
  })

  test('in a schema that leads to itself, at each level', () => {
    const Asset = { ...asset, properties: { ...properties, parts: { type: 'array', items: refTo('Asset') } } }
    const [ofRequest, ofResponse] = checkBoth(load(refTo('Asset'), { Asset }), { amount: 1, parts: [{ amount: 1 }] })

    expect(ofRequest).toEqual(['/parts/0/pin required', '/pin required'])
    expect(ofResponse).toEqual(['/id required', '/parts/0/id required'])
  })

  test('of a parameter that is an object, and of a field', () => {
    const parameters = [{ name: 'filter', in: 'query', style: 'deepObject', schema: asset }]
    const responses = { 200: { description: 'found', headers: { 'X-Asset': { schema: refTo('Asset') } } } }
    const more = { openapi: '3.0.4', components: { schemas: { Asset: asset } } }
    const loaded = loadDocument(insights({ parameters, responses }, more))

    const own = loaded.contract?.operations['market.insights']
    const schemas = [own?.request.parameters[0]?.schema, own?.responses[0]?.headers[0]?.schema]
    expect(check(loaded, { amount: 1 }, ...schemas)).toEqual([['/pin required'], ['/id required']])
  })

  test('stays in both where one branch of two does not mark the member, with a warning at its place', () => {
    const anyOf = [{ properties: { id: readOnly } }, { properties: { id: { type: 'integer' } } }]
    const loaded = load({ required: ['amount', 'id'], anyOf })

    expect(checkBoth(loaded, { amount: 1 })).toEqual([['/id required'], ['/id required']])
    expect(loaded.warnings.map(({ path }) => path.split('.').at(-1))).toContain('required[1]')
  })

  // With fewer names, `not` would match more, and reject what is right.
  test('stays in what must not match', () => {
    const loaded = load({ properties: { id: readOnly }, not: { required: ['id', 'amount'] } })

    expect(checkBoth(loaded, { amount: 1 })).toEqual([[], []])
    expect(checkBoth(loaded, { id: 'a', amount: 1 })).toEqual([[' not'], [' not']])
  })

  test('with a mistake inside, it is told once, at its place', () => {
    const Bad = { ...asset, properties: { ...properties, amount: { pattern: '(' } } }
    const { problems } = load(refTo('Bad'), { Bad })

    expect(problems.map(({ path }) => path)).toEqual(['components.schemas.Bad.properties.amount.pattern'])
  })
})

test('the document that is printed says the same of both directions, in 3.1', () => {
  const { contract } = load(refTo('Asset'), { Asset: asset, Plain: { required: ['a'] }, 'Asset-request': {} })

  const ofBoth = {
    'Asset-request-2': { required: ['pin', 'amount'], properties },
    'Asset-response': { required: ['id', 'amount'], properties },
  }
  const components = { schemas: { Asset: { required }, ...ofBoth } }
  expect(contract?.document).toMatchObject({ openapi: '3.1.1', components })
  const checked = checkBoth(loadDocument(Object(contract?.document)), { amount: 1 })
  expect(checked).toEqual([['/pin required'], ['/id required']])
})

// JSON Schema Validation §9.4: they are annotations.
test('in OpenAPI 3.1 both directions require them', () => {
  const loaded = load(refTo('Asset'), { Asset: asset }, '3.1.1')

  const both = ['/id required', '/pin required']
  expect([checkBoth(loaded, { amount: 1 }), schemaNames(loaded)]).toEqual([[both, both], ['Asset']])
})

test.each([
  ['the words', { type: 'object', required: ['id'], properties: { id: { type: 'string' } } }],
  ['required', { type: 'object', properties: { id: readOnly, pin: writeOnly } }],
])('a document of 3.0 without %s keeps its components', (_, Asset) => {
  expect(schemaNames(load(refTo('Asset'), { Asset }))).toEqual(['Asset'])
})
