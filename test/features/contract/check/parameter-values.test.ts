import { describe, expect, test, vi } from 'vitest'
import type { ParameterContract } from '../../../../src/features/contract/check/compiled-contract.ts'
import {
  absent,
  emptyParameter,
  parseQuery,
  readHeaderParameter,
  readQueryParameter,
} from '../../../../src/features/contract/check/parameter-values.ts'
import { applyToKeys, pairWith } from '../../../helpers/table.ts'
import { parameterOf } from '../validators.ts'

type More = Partial<ParameterContract>

const read = (query: string, more: More) => {
  const parameters = parseQuery(query)
  if (parameters === null) throw new Error('the query is broken')
  return readQueryParameter(parameterOf(more), parameters)
}
const readField = (fields: readonly string[], more: More) =>
  readHeaderParameter(parameterOf({ in: 'header', name: 'x-p', style: 'simple', explode: false, ...more }), fields)

const fault = (rule: string) =>
  expect.toSatisfy((found: unknown) => typeof found === 'symbol' && found.description === rule)
const twice = fault('duplicate-parameter')

const [text, integer, array, object] = [
  { types: ['string'] },
  { types: ['integer'] },
  { types: ['array'], explode: false, itemTypes: ['integer'] },
  { types: ['object'] },
] as const satisfies readonly More[]
const members = { types: ['object'], memberTypes: { a: ['integer'], b: ['string'] } } as const satisfies More
const deep = { ...members, style: 'deepObject' } as const
const anyMembers = { ...object, otherMemberTypes: ['integer'] } as const
const json = { style: 'json', explode: false, types: ['object'] } as const

describe('one value', () => {
  test.each<[string, string, ParameterContract['types'], unknown]>([
    ['is a text where a text is allowed', '?p=10', ['string', 'integer'], '10'],
    ['is a number where none is', '?p=10', ['integer'], 10],
    ['is as near as a double is beyond 2^53', '?p=12345678901234567890', ['integer'], 12345678901234567000],
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
    expect(read(query, { types })).toEqual(expected)
  })

  // Servers differ in what they take for a parameter of this name. The gateway compares names once decoded, and knows
  // no nested ones: what it does not take for the parameter is another one, which may be there.
  test.each<[string, string, More, unknown]>([
    ['may stand there once: readers differ in which one they take', '?p=1&p=2', integer, twice],
    ['may not stand there in two spellings', '?p=1&%70=1', integer, twice],
    ['with a broken percent-encoding is a fault', '?p=%zz', text, fault('encoding')],
    ['with an encoding of no UTF-8 is a fault', '?p=%ff', text, fault('encoding')],
    ['that may be empty is taken as it is', '?p=', { ...integer, allowsEmpty: true }, emptyParameter],
    ['that may be empty is taken as it is without `=`', '?p', { ...integer, allowsEmpty: true }, emptyParameter],
    ['that may be empty is a number all the same', '?p=1', { ...integer, allowsEmpty: true }, 1],
    ['has a semicolon as a part of it', '?p=1;p=2', text, '1;p=2'],
  ])('%s', (_, query, more, expected) => {
    expect(read(query, more)).toEqual(expected)
  })

  test('is absent of no query and of another name', () => {
    const queries = ['?q=1', '', '?', '?&&', '?P=1', '?p[]=1', '?a=1;p=2']

    expect(pairWith(queries, (query) => read(query, text))).toEqual(pairWith(queries, () => absent))
  })

  test('is none of a query with a name that cannot be decoded', () => {
    expect(parseQuery('?%zz=1')).toBeNull()
  })
})

test.each<[string, string, More, unknown]>([
  ['exploded', '?p=1&q=0&p=2', { explode: true }, [1, 2]],
  ['exploded, with a comma in an item', '?p=a,b&p=c', { explode: true, itemTypes: ['string'] }, ['a,b', 'c']],
  ['with commas', '?p=1,2', {}, [1, 2]],
  ['with a comma that is encoded, and belongs to the item', '?p=a%2Cb,c', { itemTypes: [] }, ['a,b', 'c']],
  ['that is empty', '?p=', { itemTypes: [] }, []],
  ['with spaces', '?p=1%202+3', { style: 'spaceDelimited' }, [1, 2, 3]],
  ['with pipes', '?p=1|2%7C3', { style: 'pipeDelimited' }, [1, 2, 3]],
  ['with an item of another type', '?p=1,x', {}, [1, 'x']],
])('an array %s', (_, query, more, expected) => {
  expect(read(query, { ...array, ...more })).toEqual(expected)
})

describe('an object', () => {
  test.each<[string, string, More, unknown]>([
    ['in deepObject', '?p[a]=1&p%5Bb%5D=2&q[c]=3', deep, { a: 1, b: '2' }],
    ['in deepObject, with members that it does not name', '?p[a]=1&p[c]=3', deep, { a: 1, c: '3' }],
    ['of any names', '?p[x]=1&p[y]=2', { ...deep, otherMemberTypes: ['integer'] }, { x: 1, y: 2 }],
    ['with a member of a member, whose name has the brackets', '?p[a][b]=1', deep, { 'a][b': '1' }],
    ['exploded, its members beside other parameters', '?a=1&b=2&c=3', members, { a: 1, b: '2' }],
    ['with commas', '?p=a,1,b,2,c,3', { ...members, explode: false }, { a: 1, b: '2', c: '3' }],
    ['with pipes', '?p=a|1|b|2', { ...members, explode: false, style: 'pipeDelimited' }, { a: 1, b: '2' }],
    ['in deepObject has each member once', '?p[a]=1&p[a]=2', deep, twice],
    ['exploded has each member once', '?a=1&a=2', members, twice],
    ['with commas has each member once', '?p=a,1,a,2', { ...members, explode: false }, twice],
    ['of any names may be any parameter, and is not compared', '?limit=x', anyMembers, emptyParameter],
    ['in JSON', '?p=%7B%22a%22:1%7D', json, { a: 1 }],
    ['in JSON has each member once', '?p={"a":1,"a":2}', json, fault('json')],
    ['in JSON is whole', '?p={', json, fault('json')],
    ['in JSON stands there once', '?p={}&p={}', json, twice],
  ])('%s', (_, query, more, expected) => {
    expect(read(query, more)).toEqual(expected)
  })

  test('takes names that every object inherits as its own', () => {
    const found = read('?p=__proto__,1,toString,2', { ...object, explode: false })

    expect(Object.entries(Object(found)).join(' ')).toBe('__proto__,1 toString,2')
    expect(Object.getPrototypeOf(found)).toBe(Object.prototype)
  })
})

// OpenAPI 3.1 §4.8.12.3: "The representation of array or object properties is not defined".
describe('an array in deepObject', () => {
  const someTypes = ['array', 'integer', 'null'] as const
  const arrays: More = {
    ...{ types: ['object'], style: 'deepObject' },
    memberTypes: { a: ['array'], b: ['string'], s: someTypes, t: ['array', 'string'], 'a][x': ['string'] },
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
    ['is none where the schema has none: the member stands there once', '?p[b]=1&p[b]=2', twice],
  ])('%s', (_, query, expected) => {
    expect(read(query, arrays)).toEqual(expected)
  })

  test.each([
    ['a gap, or no first item', 'array-items', ['[a][0]=1&p[a][2]=2', '[a][1]=1']],
    ['an index twice', 'array-items', ['[a][0]=1&p[a][0]=2']],
    ['an index that is none', 'array-items', ['[a][y]=1', '[a][00]=1', '[a][9999999999]=1']],
    ['two ways at once', 'array-items', ['[a]=1&p[a][]=2', '[a][]=1&p[a][0]=2']],
    ['a level more', 'array-items', ['[a][0][c]=1']],
    ['a broken percent-encoding', 'encoding', ['[a]=%zz', '[a][]=%zz', '[a][0]=%zz', '[a]=1&p[a]=%zz']],
  ])('is a fault with %s: readers differ', (_, rule, queries) => {
    expect(pairWith(queries, (query) => read(`?p${query}`, arrays))).toEqual(pairWith(queries, () => fault(rule)))
  })

  test('is a name with brackets where no other member may be an array', () => {
    expect(read('?p[b][]=1', { ...arrays, otherMemberTypes: [] })).toEqual({ 'b][': '1' })
  })
})

// RFC 9110 §5.6.1.2: a recipient ignores empty elements. §5.6.3: blanks are spaces and tabs alone.
describe('a list in a header field', () => {
  test('counts without its empty elements', () => {
    const few = { '\t,\t1 ,, ': [1], '': [], ' , ,': [] }
    const lists = { '1, , 2': [1, 2], ',1,2,': [1, 2], '1,\xa0,2': [1, '\xa0', 2], ...few }

    expect(applyToKeys(lists, (value) => readField(['X-P', value], array))).toEqual(lists)
  })

  test.each<[string, boolean, object]>([
    ['a=1,,b=2,', true, { a: '1', b: '2' }],
    ['a,1,,b,2,', false, { a: '1', b: '2' }],
    ['a,,b,2', false, { a: '', b: '2' }],
    [',', false, {}],
  ])('%j as an object', (value, explode, expected) => {
    expect(readField(['X-P', value], { ...object, explode })).toEqual(expected)
  })
})

describe('a header field', () => {
  const expires = 'a=1; Expires=Wed, 09 Jun 2027 10:18:14 GMT'
  const cookies = ['Set-Cookie', expires, 'Set-Cookie', 'b=2,3']
  const via = { ...text, name: 'via' }
  const memberCookies = { ...object, name: 'set-cookie', explode: true }

  test.each<[string, readonly string[], More, unknown]>([
    ['in any case', ['X-P', '5'], integer, 5],
    ['of one text, with its commas', ['X-P', 'a, b'], text, 'a, b'],
    ['of an array in several lines', ['X-P', '1', 'A', 'b', 'x-p', '2'], array, [1, 2]],
    ['of an object', ['X-P', 'a,1,b,2'], members, { a: 1, b: '2' }],
    ['of an object that explodes', ['X-P', 'a=1,b'], { ...object, explode: true }, { a: '1', b: '' }],
    ['is not percent-decoded', ['X-P', '%41'], text, '%41'],
    ['is also one that a CGI-like back end takes for it', ['X_P', '1'], integer, 1],
    ['stands there twice where a CGI-like back end takes two for it', ['X-P', '1', 'X_P', '2'], integer, twice],
    ['of a name with _ is one with -', ['X-P', '1'], { ...integer, name: 'x_p' }, 1],
    ['of one value may stand there once', ['X-P', '1', 'x-p', '1'], integer, twice],
    ['of another name is absent', ['X-Q', '1'], {}, absent],
    // RFC 9110 §5.3
    ['that is a list is one value of two lines', ['via', 'a', 'Other', 'x', 'via', 'b'], via, 'a, b'],
    // RFC 6265 §3, and OpenAPI 3.2, "Representing the Set-Cookie Header"
    ['Set-Cookie is an item in each line', cookies, { name: 'set-cookie', types: ['array'] }, [expires, 'b=2,3']],
    ['Set-Cookie is a member in each line', cookies, memberCookies, { a: expires.slice(2), b: '2,3' }],
  ])('%s', (_, fields, more, expected) => {
    expect(readField(fields, more)).toEqual(expected)
  })
})

// Each decode that fails throws: all of a target of 8 KiB took the serving thread 55 to 129 ms.
test.each<[string, string, More]>([
  ['named several times', `?${'p=%zz&'.repeat(1365)}`, { explode: true }],
  ['with commas', `?p=${'%zz,'.repeat(2047)}`, { explode: false }],
])('an array %s is read up to the first item that cannot be decoded', (_, query, more) => {
  const decode = vi.spyOn(globalThis, 'decodeURIComponent')
  try {
    expect(read(query, { types: ['array'], itemTypes: ['string'], ...more })).toEqual(fault('encoding'))
    expect(decode).toHaveBeenCalledTimes(1)
  } finally {
    decode.mockRestore()
  }
})
