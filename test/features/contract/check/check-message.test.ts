import { describe, expect, test } from 'vitest'
import type { HeaderFields } from '../../../../src/core/exchange/header-fields.ts'
import {
  checkBody,
  checkRequestHead,
  checkResponseHead,
} from '../../../../src/features/contract/check/check-message.ts'
import type {
  MediaTypeContract,
  ParameterContract,
  RequestContract,
  ResponseContract,
} from '../../../../src/features/contract/check/compiled-contract.ts'
import { parameterOf, schemaName, validatorsOf } from '../validators.ts'

const validators = validatorsOf({ type: 'object' })
const json: MediaTypeContract = { type: 'application/json', schema: schemaName }

const check = (content: readonly MediaTypeContract[], fields: HeaderFields, required = true) =>
  checkRequestHead({ parameters: [], body: { required, content } }, validators, { query: '', fields, hasBody: true })

const type = (value: string): HeaderFields => ['Content-Type', value]
const schema = { kind: 'schema', schema: schemaName }
const none = { kind: 'none' }
const unchecked = (why: string) => ({ kind: 'unchecked', why, hasSchema: true })

describe('the type of a body', () => {
  test.each<[string, readonly MediaTypeContract[], HeaderFields, object]>([
    ['as the contract has it', [json], type('application/json'), schema],
    ['in another case, with parameters', [json], type('Application/JSON ;q=1; Charset="UTF-8"'), schema],
    ['of a range', [{ type: 'application/*', schema: schemaName }], type('application/ld+json'), schema],
    ['of any type', [{ type: '*/*', schema: schemaName }], type('application/json'), schema],
    ['more exact before less', [{ type: '*/*', schema: null }, json], type('application/json'), schema],
    ['other than JSON', [{ type: 'text/*', schema: schemaName }], type('text/csv'), unchecked('not-json')],
    ['without a schema: any JSON', [{ ...json, schema: null }], type('application/json; charset=latin1'), none],
    ['where no type is named: any body', [], ['Content-Type', 'a/b', 'Content-Type', 'c/d'], none],
    ['none, where no type is named', [], [], none],
    ['coded', [json], [...type('application/json'), 'Content-Encoding', 'gzip'], unchecked('coded')],
    [
      'coded in several ways',
      [json],
      [...type('application/json'), 'Content-Encoding', 'identity', 'content-encoding', 'br'],
      unchecked('coded'),
    ],
    ['with an empty list of codings', [json], [...type('application/json'), 'Content-Encoding', ''], schema],
    ['not coded, twice', [json], [...type('application/json'), 'Content-Encoding', 'identity, Identity'], schema],
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
    [
      'twice: readers differ in which one they take',
      [...type('application/json'), ...type('application/json')],
      'duplicate-field',
    ],
    ['with another charset', type('application/json; charset=utf-16'), 'charset'],
    ['with an extended charset', type("application/json; charset*=utf-8''utf-16"), 'charset'],
    ['with a charset in parts', type('application/json; charset=utf-8; Charset*0=utf-; charset*1 = 16'), 'charset'],
    ['with another charset too', type('application/json; charset=utf-8; charset=latin1'), 'charset'],
  ])('%s is a violation', (_, fields, rule) => {
    const { violations, body } = check([json], fields)

    expect(violations).toMatchObject([{ pointer: '', in: 'content-type', rule }])
    expect(body).toEqual(none)
  })
})

describe('a request', () => {
  const parameter = parameterOf({ required: true })
  const head = (contract: RequestContract, hasBody: boolean, query = '') =>
    checkRequestHead(contract, validators, { query, fields: type('application/json'), hasBody })

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

    expect(head({ parameters, body: null }, false).violations).toHaveLength(10)
  })

  test('with a broken percent-encoding anywhere in the query has one violation for it', () => {
    const limit: ParameterContract = { ...parameter, name: 'limit', types: ['integer'] }

    expect(head({ parameters: [limit], body: null }, false, '?%zz=1&limit=1').violations).toMatchObject([
      { pointer: '', in: 'query', rule: 'encoding' },
    ])
  })

  test('has a value of any type where the schema names none: the text, or what it stands for', () => {
    const enumOf = (values: readonly unknown[]) => validatorsOf({ enum: values })
    const rules = (query: string, values: readonly unknown[]) =>
      checkRequestHead({ parameters: [{ ...parameter, schema: schemaName }], body: null }, enumOf(values), {
        query,
        fields: [],
        hasBody: false,
      }).violations.map(({ rule }) => rule)

    expect(rules('?p=1', [1, 2])).toEqual([])
    expect(rules('?p=1', ['1'])).toEqual([])
    expect(rules('?p=true', [true])).toEqual([])
    expect(rules('?p=3', [1, 2])).toEqual(['enum'])
    expect(rules('?p=a', [1, 2])).toEqual(['enum'])
  })

  test('has steps for all parameters together', () => {
    const parameters = ['p', 'q'].map((name) => ({
      ...parameter,
      ...{ name, types: ['string'] as const, schema: schemaName },
    }))
    const slow = validatorsOf({ pattern: '^(?:[a-z]{1,30} ?){1,10}$' })
    const rules = (query: string) =>
      checkRequestHead({ parameters, body: null }, slow, { query, fields: [], hasBody: false }).violations.map(
        ({ rule }) => rule,
      )

    expect(rules('?p=a&q=b')).toEqual([])
    expect(rules(`?p=${'a'.repeat(290)}&q=b`)).toEqual(['complexity', 'complexity'])
    expect(rules('?p=a&q=b')).toEqual([])
  })
})

// OpenAPI 3.1 §4.8.14.1: the most specific key. RFC 9110 §8.3.1: names of parameters have no case, and quotation marks
// mean nothing.
describe('media types that differ by a parameter', () => {
  const media = (name: string, parameters: MediaTypeContract['parameters'] = []): MediaTypeContract => ({
    type: 'application/json',
    ...(parameters.length === 0 ? {} : { parameters }),
    schema: name,
  })
  const [plain, one, two, both] = [
    media('plain'),
    media('one', [['v', '1']]),
    media('two', [['v', '2']]),
    media('both', [
      ['v', '1'],
      ['p', 'a;b'],
    ]),
  ]
  const utf8 = media('utf8', [['charset', 'utf-8']])
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
  ])('%s', (value, content, expected) => {
    expect(check(content, type(value))).toEqual({ violations: [], body: { kind: 'schema', schema: expected } })
    const contract = { status: '200', headers: [], content }
    const response = checkResponseHead([contract], validators, { status: 200, fields: type(value), hasContent: true })
    expect(response.body).toEqual({ kind: 'schema', schema: expected })
  })

  test.each(['application/json', 'application/json; v=3', 'application/json; v=1; v=2', 'application/json; v="1'])(
    '%s is none of v=1 and v=2, and the detail names both',
    (value) => {
      expect(check([one, both], type(value)).violations).toMatchObject([
        {
          rule: 'content-type',
          detail: 'the type of the body has to be application/json; v=1, application/json; v=1; p="a;b"',
        },
      ])
    },
  )

  // A reader that takes the first of two, or allows blanks around `=`, takes these for v=1.
  test.each(['v=1; v=2', 'v=1; =', 'v = 1', 'v', 'v="1', 'V=2; v=1', 'v=1; v=1 1'])(
    '%s is of no type where v tells types apart: readers differ on what it says',
    (parameters) => {
      const fields = type(`application/json; ${parameters}`)
      const contract = { status: '200', headers: [], content: [plain, one, two, any] }
      const response = checkResponseHead([contract], validators, { status: 200, fields, hasContent: true })

      expect(check(contract.content, fields).violations).toMatchObject([{ rule: 'content-type' }])
      expect(response.violations).toMatchObject([{ rule: 'content-type' }])
      expect(check([plain, any], fields).violations).toEqual([])
    },
  )
})

describe('a response', () => {
  const notJson = { ...unchecked('not-json'), hasSchema: false }
  const at = (status: number, statuses: readonly string[], fields = type('application/json'), hasContent = true) =>
    checkResponseHead(
      statuses.map((each) => ({ status: each, headers: [], content: [json] })),
      validators,
      { status, fields, hasContent },
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

  test.each<[number, readonly string[]]>([
    [201, ['200']],
    [500, ['2XX', '4XX']],
    [404, []],
  ])('%d under %j breaks it', (status, statuses) => {
    const rule = status >= 500 ? 'upstream-error' : 'status'

    expect(at(status, statuses).violations).toMatchObject([{ in: 'status', rule }])
  })

  // RFC 9110 §15.3.7
  test.each<[readonly string[]]>([[['default']], [['2XX']], [['2XX', 'default']]])(
    'that is a part of a body has the contract of 200 before that of %j',
    (statuses) => {
      const others: readonly ResponseContract[] = statuses.map((each) => ({ status: each, headers: [], content: null }))
      const whole: ResponseContract = { status: '200', headers: [], content: [json] }
      const check206 = (contracts: readonly ResponseContract[]) =>
        checkResponseHead(contracts, validators, { status: 206, fields: type('application/json'), hasContent: true })
          .body

      expect(check206([...others, whole])).toEqual(unchecked('partial'))
      expect(check206(others)).toEqual(none)
    },
  )

  // RFC 9110 §15.3.7.2
  test.each<[string, readonly MediaTypeContract[], object]>([
    ['that have a schema', [json], unchecked('partial')],
    ['that have none', [{ ...json, schema: null }], none],
    ['of any type', [], none],
    ['of which this type is one', [json, { type: 'multipart/byteranges', schema: null }], notJson],
  ])('of several ranges of bodies %s keeps the contract', (_, content, body) => {
    const contract = { status: '206', headers: [], content }

    const fields = type('Multipart/ByteRanges; boundary=a')
    expect(checkResponseHead([contract], validators, { status: 206, fields, hasContent: true })).toEqual({
      violations: [],
      body,
    })
  })

  test('of one range, or whole, breaks it by another type', () => {
    expect(at(206, ['206'], type('text/plain')).violations).toMatchObject([{ rule: 'content-type' }])
    expect(at(200, ['200'], type('multipart/byteranges')).violations).toMatchObject([{ rule: 'content-type' }])
  })

  // RFC 9110 §8.3: a type is that of the content. OpenAPI 3.1 §4.8.17: `content` requires none.
  test('without a type and without content keeps it, and one with a type is still of that type', () => {
    expect(at(200, ['200'], []).violations).toMatchObject([{ in: 'content-type', rule: 'required' }])
    expect(at(200, ['200'], [], false)).toEqual({ violations: [], body: none })
    expect(at(200, ['200'], type('text/html'), false).violations).toMatchObject([{ rule: 'content-type' }])
    expect(at(200, ['200'], type('application/json'), false).body).toEqual(schema)
  })
})

test.each<[string, string]>([
  ['1e400', 'type'],
  ['12345678901234567890', ''],
  ['-0', ''],
  ['1.0', ''],
  ['1.5', 'type'],
])('the body %s as an integer: %s', (text, rule) => {
  const violations = checkBody(schemaName, validatorsOf({ type: 'integer' }), Buffer.from(text))

  expect(violations?.map((each) => each.rule).join()).toBe(rule)
})
