import { describe, expect, test } from 'vitest'
import type { HeaderFields } from '../../../../src/core/exchange/header-fields.ts'
import {
  checkBody,
  checkRequestHead,
  checkResponseHead,
} from '../../../../src/features/contract/check/check-message.ts'
import type {
  MediaTypeContract,
  RequestContract,
  ResponseContract,
} from '../../../../src/features/contract/check/compiled-contract.ts'
import { applyToKeys } from '../../../helpers/table.ts'
import { parameterOf, schemaName, validatorsOf } from '../validators.ts'

const validators = validatorsOf({ type: 'object' })
const json: MediaTypeContract = { type: 'application/json', schema: schemaName }
const mediaOf = (type: string, schema: string | null = schemaName): MediaTypeContract => ({ type, schema })

const check = (content: readonly MediaTypeContract[], fields: HeaderFields) =>
  checkRequestHead({ parameters: [], body: { required: true, content } }, validators, {
    query: '',
    fields,
    hasBody: true,
  })
const checkResponse = (
  contracts: readonly ResponseContract[],
  fields: HeaderFields,
  { status = 200, hasContent = true } = {},
) => checkResponseHead(contracts, validators, { status, fields, hasContent })
const responseOf = (status: string, content: ResponseContract['content']) => ({ status, headers: [], content })

const type = (value: string): HeaderFields => ['Content-Type', value]
const jsonType = type('application/json')
const schema = { kind: 'schema', schema: schemaName }
const none = { kind: 'none' }
const unchecked = (why: string) => ({ kind: 'unchecked', why, hasSchema: true })

describe('the type of a body', () => {
  const encodings = (...values: readonly string[]) =>
    jsonType.concat(values.flatMap((value) => ['Content-Encoding', value]))

  test.each<[string, readonly MediaTypeContract[], HeaderFields, object]>([
    ['as the contract has it', [json], jsonType, schema],
    ['in another case, with parameters', [json], type('Application/JSON ;q=1; Charset="UTF-8"'), schema],
    ['of a range', [mediaOf('application/*')], type('application/ld+json'), schema],
    ['of any type', [mediaOf('*/*')], jsonType, schema],
    ['more exact before less', [mediaOf('*/*', null), json], jsonType, schema],
    ['other than JSON', [mediaOf('text/*')], type('text/csv'), unchecked('not-json')],
    ['without a schema: any JSON', [{ ...json, schema: null }], type('application/json; charset=latin1'), none],
    ['where no type is named: any body', [], ['Content-Type', 'a/b', 'Content-Type', 'c/d'], none],
    ['none, where no type is named', [], [], none],
    ['coded', [json], encodings('gzip'), unchecked('coded')],
    ['coded in several ways', [json], encodings('identity', 'br'), unchecked('coded')],
    ['with an empty list of codings', [json], encodings(''), schema],
    ['not coded, twice', [json], encodings('identity, Identity'), schema],
    ['with a blank behind its charset', [json], type('application/json; charset=utf-8 ; q=1'), schema],
    ['with a parameter that only looks like a charset', [json], type('application/json; charset-note=utf-16'), schema],
  ])('%s', (_, content, fields, expected) => {
    expect(check(content, fields)).toEqual({ violations: [], body: expected })
  })

  test.each<[string, HeaderFields, string]>([
    ['missing', [], 'required'],
    ['another', type('text/plain'), 'content-type'],
    ['empty', type(''), 'content-type'],
    ['JSON of another kind', type('application/ld+json'), 'content-type'],
    ['a list', type('application/json, text/plain'), 'content-type'],
    ['twice: readers differ in which one they take', [...jsonType, ...jsonType], 'duplicate-field'],
    ['with another charset', type('application/json; charset=utf-16'), 'charset'],
    ['with an extended charset', type("application/json; charset*=utf-8''utf-16"), 'charset'],
    ['with a charset in parts', type('application/json; charset=utf-8; Charset*0=utf-; charset*1 = 16'), 'charset'],
    ['with another charset too', type('application/json; charset=utf-8; charset=latin1'), 'charset'],
  ])('%s is a violation', (_, fields, rule) => {
    expect(check([json], fields)).toMatchObject({ violations: [{ pointer: '', in: 'content-type', rule }], body: none })
  })
})

describe('a request', () => {
  const parameter = parameterOf({ required: true })
  const head = (contract: RequestContract, hasBody: boolean, query = '', using = validators) =>
    checkRequestHead(contract, using, { query, fields: jsonType, hasBody })
  const rules = (...given: Parameters<typeof head>) => head(...given).violations.map(({ rule }) => rule)

  test('without a body breaks the contract where it has to have one', () => {
    const body = { required: true, content: [json] }

    expect(head({ parameters: [], body }, false).violations).toMatchObject([{ in: 'body', rule: 'required' }])
    expect(head({ parameters: [], body: { ...body, required: false } }, false).violations).toEqual([])
  })

  test('with a body of which the contract says nothing keeps it', () => {
    expect(head({ parameters: [], body: null }, true)).toEqual({ violations: [], body: none })
  })

  test('has at most ten violations', () => {
    const parameters = Array.from({ length: 30 }, (_, i) => ({ ...parameter, name: `p${i}` }))

    expect(rules({ parameters, body: null }, false)).toHaveLength(10)
  })

  test('with a broken percent-encoding anywhere in the query has one violation for it', () => {
    const parameters = [{ ...parameter, name: 'limit', types: ['integer'] as const }]

    expect(head({ parameters, body: null }, false, '?%zz=1&limit=1').violations).toMatchObject([
      { pointer: '', in: 'query', rule: 'encoding' },
    ])
  })

  test.each<[query: string, allowed: readonly unknown[], rules: readonly string[]]>([
    ['?p=1', [1, 2], []],
    ['?p=1', ['1'], []],
    ['?p=true', [true], []],
    ['?p=3', [1, 2], ['enum']],
    ['?p=a', [1, 2], ['enum']],
  ])(
    '%s is one of %j, where no type is named, as the text or as what it stands for: %j',
    (query, allowed, expected) => {
      const parameters = [{ ...parameter, schema: schemaName }]

      expect(rules({ parameters, body: null }, false, query, validatorsOf({ enum: allowed }))).toEqual(expected)
    },
  )

  test('has steps for all parameters together', () => {
    const parameters = ['p', 'q'].map((name) => parameterOf({ name, types: ['string'], schema: schemaName }))
    const slow = validatorsOf({ pattern: '^(?:[a-z]{1,30} ?){1,10}$' })
    const queries = ['?p=a&q=b', `?p=${'a'.repeat(290)}&q=b`, '?p=a&q=b']

    const broken = queries.map((query) => rules({ parameters, body: null }, false, query, slow))
    expect(broken).toEqual([[], ['complexity', 'complexity'], []])
  })
})

// OpenAPI 3.1 §4.8.14.1: the most specific key. RFC 9110 §8.3.1: names of parameters have no case, and quotation marks
// mean nothing.
describe('media types that differ by a parameter', () => {
  const media = (name: string, ...parameters: readonly (readonly [string, string])[]): MediaTypeContract => ({
    type: 'application/json',
    ...(parameters.length === 0 ? {} : { parameters }),
    schema: name,
  })
  const plain = media('plain')
  const one = media('one', ['v', '1'])
  const two = media('two', ['v', '2'])
  const both = media('both', ['v', '1'], ['p', 'a;b'])
  const utf8 = media('utf8', ['charset', 'utf-8'])
  const any: MediaTypeContract = { type: '*/*', schema: 'any' }

  test.each<[string, readonly MediaTypeContract[], string]>([
    ['application/json;v=2', [one, two], 'two'],
    ['application/json; v="\\2"', [one, two], 'two'],
    ['application/json; x=";v=1"; v=2', [one, two], 'two'],
    ['application/json; v=1', [plain, one], 'one'],
    ['application/json', [one, plain], 'plain'],
    ['application/json; v=3', [one, any], 'any'],
    ['application/json; p="a;b"; v=1', [plain, one, both], 'both'],
    ['application/json; v=1;; charset=utf-8', [one, two], 'one'],
    ['application/json; v=1; v="1"', [one, plain], 'one'],
    ['application/json; v=1; p=1; p=2', [one, plain], 'one'],
    ['application/json; charset = utf-8', [plain, utf8], 'plain'],
    ['application/json', [utf8], 'utf8'],
    ['application/json', [utf8, plain], 'plain'],
    ['application/json; charset="UTF8"', [plain, utf8], 'utf8'],
    ['application/json; charset=us-ascii', [utf8], 'utf8'],
  ])('%s', (value, content, name) => {
    const body = { kind: 'schema', schema: name }

    expect(check(content, type(value))).toEqual({ violations: [], body })
    expect(checkResponse([responseOf('200', content)], type(value)).body).toEqual(body)
  })

  test.each(['application/json', 'application/json; v=3', 'application/json; v=1; v=2', 'application/json; v="1'])(
    '%s is none of v=1 and v=2, and the detail names both',
    (value) => {
      const detail = 'the type of the body must be application/json; v=1, application/json; v=1; p="a;b"'

      expect(check([one, both], type(value)).violations).toMatchObject([{ rule: 'content-type', detail }])
    },
  )

  // A reader that takes the first of two, or allows blanks around `=`, takes these for v=1.
  test.each(['v=1; v=2', 'v=1; =', 'v = 1', 'v', 'v="1', 'V=2; v=1', 'v=1; v=1 1'])(
    '%s is of no type where v tells types apart: readers differ on what it says',
    (parameters) => {
      const fields = type(`application/json; ${parameters}`)
      const content = [plain, one, two, any]

      expect(check(content, fields).violations).toMatchObject([{ rule: 'content-type' }])
      expect(checkResponse([responseOf('200', content)], fields).violations).toMatchObject([{ rule: 'content-type' }])
      expect(check([plain, any], fields).violations).toEqual([])
    },
  )
})

describe('a response', () => {
  const notJson = { ...unchecked('not-json'), hasSchema: false }
  const at = (status: number, statuses: readonly string[], fields = jsonType, hasContent = true) =>
    checkResponse(
      statuses.map((each) => responseOf(each, [json])),
      fields,
      { status, hasContent },
    )

  test.each<[number, readonly string[], object]>([
    [200, ['200'], schema],
    [204, ['2XX'], none], // RFC 9110 §15.3.5
    [418, ['4XX'], schema],
    [500, ['200', 'default'], schema],
    [304, [], none], // RFC 9110 §15.4.5
    [206, ['200'], unchecked('partial')],
    [206, ['206'], unchecked('partial')],
  ])('%d under %j keeps the contract', (status, statuses, body) => {
    expect(at(status, statuses)).toEqual({ violations: [], body })
  })

  test.each<[number, readonly string[], string]>([
    [201, ['200'], 'status'],
    [500, ['2XX', '4XX'], 'upstream-error'],
    [404, [], 'status'],
  ])('%d under %j breaks it: %s', (status, statuses, rule) => {
    expect(at(status, statuses).violations).toMatchObject([{ in: 'status', rule }])
  })

  // RFC 9110 §15.3.7
  test.each<[readonly string[]]>([[['default']], [['2XX']], [['2XX', 'default']]])(
    'that is a part of a body has the contract of 200 before that of %j',
    (statuses) => {
      const others = statuses.map((each) => responseOf(each, null))
      const check206 = (contracts: readonly ResponseContract[]) =>
        checkResponse(contracts, jsonType, { status: 206 }).body

      expect(check206([...others, responseOf('200', [json])])).toEqual(unchecked('partial'))
      expect(check206(others)).toEqual(none)
    },
  )

  // RFC 9110 §15.3.7.2
  test.each<[string, readonly MediaTypeContract[], object]>([
    ['that have a schema', [json], unchecked('partial')],
    ['that have none', [{ ...json, schema: null }], none],
    ['of any type', [], none],
    ['of which this type is one', [json, mediaOf('multipart/byteranges', null)], notJson],
  ])('of several ranges of bodies %s keeps the contract', (_, content, body) => {
    const fields = type('Multipart/ByteRanges; boundary=a')

    expect(checkResponse([responseOf('206', content)], fields, { status: 206 })).toEqual({ violations: [], body })
  })

  // RFC 9110 §8.3: a type is that of the content. OpenAPI 3.1 §4.8.17: `content` requires none.
  test.each<[number, HeaderFields, boolean, object]>([
    [206, type('text/plain'), true, { violations: [{ rule: 'content-type' }] }],
    [200, type('multipart/byteranges'), true, { violations: [{ rule: 'content-type' }] }],
    [200, [], true, { violations: [{ in: 'content-type', rule: 'required' }] }],
    [200, [], false, { violations: [], body: none }],
    [200, type('text/html'), false, { violations: [{ rule: 'content-type' }] }],
    [200, jsonType, false, { violations: [], body: schema }],
  ])('of status %i and %j, with content %j, is of its type', (status, fields, hasContent, expected) => {
    expect(at(status, [String(status)], fields, hasContent)).toMatchObject(expected)
  })
})

test('the body of an integer is one value of JSON in UTF-8', () => {
  const rules = {
    ...{ '12345678901234567890': '', '-0': '', '1.0': '', '1e400': 'type', '1.5': 'type' },
    ...{ '\xff': 'utf-8', '\xef\xbb\xbf1': 'json', '[{"a":1,"a":1}]': 'duplicate-member', ['['.repeat(101)]: 'depth' },
  }
  const integer = validatorsOf({ type: 'integer' })
  const ruleOf = (text: string) => {
    const violations = checkBody(schemaName, integer, Buffer.from(text, 'latin1'))
    return violations?.map(({ rule }) => rule).join()
  }

  expect(applyToKeys(rules, ruleOf)).toEqual(rules)
})
