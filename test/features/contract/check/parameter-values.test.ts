import { describe, expect, test, vi } from 'vitest'
import type { ParameterContract } from '../../../../src/features/contract/check/compiled-contract.ts'
import {
  absent,
  emptyParameter,
  parseQuery,
  readHeaderParameter,
  readQueryParameter,
} from '../../../../src/features/contract/check/parameter-values.ts'
import { parameterOf } from '../validators.ts'

const read = (query: string, more: Partial<ParameterContract>) => {
  const parameters = parseQuery(query)
  if (parameters === null) throw new Error('the query is broken')
  return readQueryParameter(parameterOf(more), parameters)
}
const value = (it: unknown): unknown => it
const fault = (rule: string) =>
  expect.toSatisfy((found: unknown) => typeof found === 'symbol' && found.description === rule)

describe('one value', () => {
  test.each<[string, string, ParameterContract['types'], unknown]>([
    ['is a text where a text is allowed', '?p=10', ['string', 'integer'], '10'],
    ['is a number where none is', '?p=10', ['integer'], 10],
    [
      'is a number beyond 2^53 too, as near as a double is',
      '?p=12345678901234567890',
      ['integer'],
      12345678901234567000,
    ],
    ['may be -0', '?p=-0', ['integer'], -0],
    ['may have an exponent', '?p=1e2', ['number'], 100],
    ['beyond any double is infinite, which no schema takes for a number', '?p=1e400', ['number'], Infinity],
    ['stays a text where it is no number of JSON', '?p=0x10', ['number'], '0x10'],
    ['stays a text with a leading zero', '?p=007', ['integer'], '007'],
    ['is true or false', '?p=true', ['boolean'], true],
    ['is no boolean in another case', '?p=True', ['boolean'], 'True'],
    ['is null when it is empty and null is allowed', '?p=', ['integer', 'null'], null],
    ['is an empty text without `=`', '?p', ['string'], ''],
    ['that is empty is no number', '?p=', ['integer'], ''],
    ['is decoded', '?p=a%20b+c%C3%A4', ['string'], 'a b cä'],
    ['keeps a comma', '?p=a,b', ['string'], 'a,b'],
  ])('%s', (_, query, types, expected) => {
    expect(read(query, { types })).toEqual(value(expected))
  })

  test('may stand there once: readers differ in which one they take', () => {
    expect(read('?p=1&p=2', { types: ['integer'] })).toEqual(fault('duplicate-parameter'))
    expect(read('?p=1&%70=1', { types: ['integer'] })).toEqual(fault('duplicate-parameter'))
  })

  test('with a broken percent-encoding is a fault, and so is a name', () => {
    expect(read('?p=%zz', { types: ['string'] })).toEqual(fault('encoding'))
    expect(read('?p=%ff', { types: ['string'] })).toEqual(fault('encoding'))
    expect(parseQuery('?%zz=1')).toBeNull()
  })

  test('that may be empty is taken as it is (allowEmptyValue)', () => {
    expect(read('?p=', { types: ['integer'], allowsEmpty: true })).toEqual(value(emptyParameter))
    expect(read('?p', { types: ['integer'], allowsEmpty: true })).toEqual(value(emptyParameter))
    expect(read('?p=1', { types: ['integer'], allowsEmpty: true })).toEqual(value(1))
  })

  test('that is not there is absent, also in an empty query', () => {
    for (const query of ['', '?', '?&&', '?q=1', '?P=1']) expect(read(query, { types: ['string'] })).toEqual(absent)
  })
})

describe('an array', () => {
  const types = ['array'] as const
  test.each<[string, string, Partial<ParameterContract>, unknown]>([
    ['exploded', '?p=1&q=0&p=2', { itemTypes: ['integer'] }, [1, 2]],
    ['exploded, with a comma in an item', '?p=a,b&p=c', { itemTypes: ['string'] }, ['a,b', 'c']],
    ['with commas', '?p=1,2', { explode: false, itemTypes: ['integer'] }, [1, 2]],
    ['with a comma that is encoded, and belongs to the item', '?p=a%2Cb,c', { explode: false }, ['a,b', 'c']],
    ['that is empty', '?p=', { explode: false }, []],
    ['with spaces', '?p=1%202+3', { explode: false, style: 'spaceDelimited', itemTypes: ['integer'] }, [1, 2, 3]],
    ['with pipes', '?p=1|2%7C3', { explode: false, style: 'pipeDelimited', itemTypes: ['integer'] }, [1, 2, 3]],
    ['with an item of another type', '?p=1,x', { explode: false, itemTypes: ['integer'] }, [1, 'x']],
  ])('%s', (_, query, more, expected) => {
    expect(read(query, { types, ...more })).toEqual(value(expected))
  })
})

const nestedObject = { types: ['object'], style: 'deepObject' } as const

// Servers differ in what they take for a parameter of this name. The gateway compares names once decoded, and knows no
// nested ones: what it does not take for the parameter is another one, which may be there.
test.each<[string, string, Partial<ParameterContract>, unknown]>([
  ['brackets behind a name', '?p[]=1', { types: ['integer'] }, absent],
  ['another case', '?P=1', { types: ['integer'] }, absent],
  ['a semicolon, which is part of a value', '?p=1;p=2', { types: ['string'] }, value('1;p=2')],
  ['a semicolon before a name', '?a=1;p=2', { types: ['string'] }, absent],
  ['a member of a member, whose name has the brackets', '?p[a][b]=1', nestedObject, value({ 'a][b': '1' })],
])('%s', (_, query, more, expected) => {
  expect(read(query, more)).toEqual(expected)
})

describe('an object', () => {
  const types = ['object'] as const
  const memberTypes = { a: ['integer'], b: ['string'] } as const
  test.each<[string, string, Partial<ParameterContract>, unknown]>([
    ['in deepObject', '?p[a]=1&p%5Bb%5D=2&q[c]=3', { style: 'deepObject' }, { a: 1, b: '2' }],
    ['in deepObject, with members that it does not name', '?p[a]=1&p[c]=3', { style: 'deepObject' }, { a: 1, c: '3' }],
    ['of any names', '?p[x]=1&p[y]=2', { style: 'deepObject', otherMemberTypes: ['integer'] }, { x: 1, y: 2 }],
    ['exploded, its members beside other parameters', '?a=1&b=2&c=3', {}, { a: 1, b: '2' }],
    ['with commas', '?p=a,1,b,2,c,3', { explode: false }, { a: 1, b: '2', c: '3' }],
    ['with pipes', '?p=a|1|b|2', { explode: false, style: 'pipeDelimited' }, { a: 1, b: '2' }],
  ])('%s', (_, query, more, expected) => {
    expect(read(query, { types, memberTypes, ...more })).toEqual(value(expected))
  })

  test('has each member once', () => {
    for (const [query, more] of [
      ['?p[a]=1&p[a]=2', { style: 'deepObject' }],
      ['?a=1&a=2', {}],
      ['?p=a,1,a,2', { explode: false }],
    ] as const)
      expect(read(query, { types, memberTypes, ...more })).toEqual(fault('duplicate-parameter'))
  })

  test('takes names that every object inherits as its own', () => {
    const found = read('?p=__proto__,1,toString,2', { types, explode: false })

    expect(Object.entries(Object(found))).toEqual([
      ['__proto__', '1'],
      ['toString', '2'],
    ])
    expect(Object.getPrototypeOf(found)).toBe(Object.prototype)
  })
})

// OpenAPI 3.1 §4.8.12.3: "The representation of array or object properties is not defined".
describe('an array in deepObject', () => {
  const deep: Partial<ParameterContract> = {
    types: ['object'],
    style: 'deepObject',
    memberTypes: {
      a: ['array'],
      b: ['string'],
      s: ['array', 'integer', 'null'],
      t: ['array', 'string'],
      'a][x': ['string'],
    },
    otherMemberTypes: ['array'],
    memberItemTypes: { a: ['integer'], s: ['integer'], t: ['string'] },
    otherItemTypes: ['boolean'],
  }

  test.each<[string, string, unknown]>([
    ['named several times', '?p[a]=1&p[b]=x&p[a]=2', { a: [1, 2], b: 'x' }],
    ['with empty brackets', '?p[a][]=1&p%5Ba%5D%5B%5D=2', { a: [1, 2] }],
    ['with indices, in any order', '?p[a][1]=2&p[a][0]=1&p%5Ba%5D%5B2%5D=3', { a: [1, 2, 3] }],
    ['with commas, which are part of an item', '?p[a]=1,2', { a: ['1,2'] }],
    ['of a name that the schema does not have', '?p[z][]=true&p[z][]=false', { z: [true, false] }],
    ['that may be a number: one is a number', '?p[s]=1', { s: 1 }],
    ['that may be a number: two are an array', '?p[s]=1&p[s]=2', { s: [1, 2] }],
    ['that may be null: an empty one is null', '?p[s]=', { s: null }],
    ['that may be a text: one is a text', '?p[t]=1', { t: '1' }],
    ['that may be a text: with brackets it is an array', '?p[t][0]=1', { t: ['1'] }],
    ['beside a member whose name has brackets', '?p[a][x]=1&p[a]=1', { 'a][x': '1', a: [1] }],
  ])('%s', (_, query, expected) => {
    expect(read(query, deep)).toEqual(value(expected))
  })

  test.each([
    ['a gap', '?p[a][0]=1&p[a][2]=2'],
    ['no first item', '?p[a][1]=1'],
    ['an index twice', '?p[a][0]=1&p[a][0]=2'],
    ['an index that is no number', '?p[a][y]=1'],
    ['an index with a leading zero', '?p[a][00]=1'],
    ['an index that no list can have', '?p[a][9999999999]=1'],
    ['two ways at once', '?p[a]=1&p[a][]=2'],
    ['two other ways at once', '?p[a][]=1&p[a][0]=2'],
    ['a level more', '?p[a][0][c]=1'],
  ])('is a fault with %s: readers differ', (_, query) => {
    expect(read(query, deep)).toEqual(fault('array-items'))
  })

  test('is a fault where a percent-encoding is broken', () => {
    for (const query of ['?p[a]=%zz', '?p[a][]=%zz', '?p[a][0]=%zz', '?p[a]=1&p[a]=%zz'])
      expect(read(query, deep)).toEqual(fault('encoding'))
  })

  test('is none where the schema has none: the member stands there once', () => {
    expect(read('?p[b]=1&p[b]=2', deep)).toEqual(fault('duplicate-parameter'))
    expect(read('?p[b][]=1', { ...deep, otherMemberTypes: [] })).toEqual(value({ 'b][': '1' }))
  })
})

test('a parameter with `content` is JSON, read as strictly as a body', () => {
  const more: Partial<ParameterContract> = { style: 'json', explode: false, types: ['object'] }

  expect(read('?p=%7B%22a%22:1%7D', more)).toEqual(value({ a: 1 }))
  expect(read('?p={"a":1,"a":2}', more)).toEqual(fault('json'))
  expect(read('?p={', more)).toEqual(fault('json'))
  expect(read('?p={}&p={}', more)).toEqual(fault('duplicate-parameter'))
})

test('an exploded object without a member that has a name is not compared: any parameter may be its own', () => {
  const map = { types: ['object'], otherMemberTypes: ['integer'] } as const

  expect(read('?limit=x', map)).toEqual(value(emptyParameter))
})

// RFC 9110 §5.6.1.2: a recipient ignores empty elements. §5.6.3: blanks are spaces and tabs alone.
describe('a list in a header field', () => {
  const readField = (value: string, more: Partial<ParameterContract>) =>
    readHeaderParameter(parameterOf({ in: 'header', name: 'x-p', style: 'simple', explode: false, ...more }), [
      'X-P',
      value,
    ])

  test.each<[string, readonly unknown[]]>([
    ['1, , 2', [1, 2]],
    [',1,2,', [1, 2]],
    ['\t,\t1 ,, ', [1]],
    ['', []],
    [' , ,', []],
    ['1,\xa0,2', [1, '\xa0', 2]],
  ])('%j without its empty elements', (text, items) => {
    expect(readField(text, { types: ['array'], itemTypes: ['integer'] })).toEqual(value(items))
  })

  test.each<[string, boolean, object]>([
    ['a=1,,b=2,', true, { a: '1', b: '2' }],
    ['a,1,,b,2,', false, { a: '1', b: '2' }],
    ['a,,b,2', false, { a: '', b: '2' }],
    [',', false, {}],
  ])('%j as an object', (text, explode, members) => {
    expect(readField(text, { types: ['object'], explode })).toEqual(value(members))
  })
})

// RFC 9110 §5.3
test.each<[string, object]>([
  ['via', value('1.1 a, 1.1 b')],
  ['x-p', fault('duplicate-parameter')],
])('two lines of %s', (name, expected) => {
  const field = parameterOf({ in: 'header', name, style: 'simple', explode: false, types: ['string'] })

  expect(readHeaderParameter(field, [name, '1.1 a', 'Other', 'x', name, '1.1 b'])).toEqual(expected)
})

describe('a header field', () => {
  const readField = (fields: readonly string[], more: Partial<ParameterContract>) =>
    readHeaderParameter(parameterOf({ in: 'header', name: 'x-p', style: 'simple', explode: false, ...more }), fields)

  test.each<[string, readonly string[], Partial<ParameterContract>, unknown]>([
    ['in any case', ['X-P', '5'], { types: ['integer'] }, 5],
    ['of one text, with its commas', ['X-P', 'a, b'], { types: ['string'] }, 'a, b'],
    [
      'of an array in several lines',
      ['X-P', '1', 'A', 'b', 'x-p', '2'],
      { types: ['array'], itemTypes: ['integer'] },
      [1, 2],
    ],
    ['of an object', ['X-P', 'a,1,b,2'], { types: ['object'], memberTypes: { a: ['integer'] } }, { a: 1, b: '2' }],
    ['of an object that explodes', ['X-P', 'a=1,b'], { types: ['object'], explode: true }, { a: '1', b: '' }],
    ['is not percent-decoded', ['X-P', '%41'], { types: ['string'] }, '%41'],
  ])('%s', (_, fields, more, expected) => {
    expect(readField(fields, more)).toEqual(value(expected))
  })

  test('is also one that a CGI-like back end takes for it', () => {
    expect(readField(['X_P', '1'], { types: ['integer'] })).toEqual(value(1))
    expect(readField(['X-P', '1', 'X_P', '2'], { types: ['integer'] })).toEqual(fault('duplicate-parameter'))
    expect(readField(['X-P', '1'], { name: 'x_p', types: ['integer'] })).toEqual(value(1))
  })

  // RFC 6265 §3, and OpenAPI 3.2, "Representing the Set-Cookie Header"
  test('Set-Cookie has an item in each line, with its commas', () => {
    const lines = ['Set-Cookie', 'a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT', 'Set-Cookie', 'b=2,3']

    expect(readField(lines, { name: 'set-cookie', types: ['array'] })).toEqual(value([lines[1], lines[3]]))
    expect(readField(lines, { name: 'set-cookie', types: ['object'], explode: true })).toEqual(
      value({ a: '1; Expires=Wed, 09 Jun 2027 10:18:14 GMT', b: '2,3' }),
    )
  })

  test('of one value may stand there once', () => {
    expect(readField(['X-P', '1', 'x-p', '1'], { types: ['integer'] })).toEqual(fault('duplicate-parameter'))
    expect(readField(['X-Q', '1'], {})).toEqual(absent)
  })
})

// Each decode that fails throws: all of a target of 8 KiB took the serving thread 55 to 129 ms.
test.each<[string, string, Partial<ParameterContract>]>([
  ['named several times', `?${'p=%zz&'.repeat(1365)}`, { explode: true }],
  ['with commas', `?p=${'%zz,'.repeat(2047)}`, { explode: false }],
])('an array %s is read up to the first item that cannot be decoded', (_, query, more) => {
  const decode = vi.spyOn(globalThis, 'decodeURIComponent')
  try {
    const found = read(query, { types: ['array'], itemTypes: ['string'], ...more })

    expect(found).toEqual(fault('encoding'))
    expect(decode).toHaveBeenCalledTimes(1)
  } finally {
    decode.mockRestore()
  }
})
