import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  allows,
  directiveFields,
  fieldLines,
  isEntityTag,
  joinFieldLines,
  listMatchesWeakly,
  matchesStrongly,
  matchesWeakly,
  parseDeltaMs,
  parseDirectives,
  parseListMembers,
  restricts,
} from '../../../../src/features/cache/policy/fields.ts'

/** Writes directives as they were read: those that are not sound with a `?`. */
const render = (value: string): string =>
  parseDirectives(value)
    .map(({ name, argument, sound }) => `${name}${argument === null ? '' : `=<${argument}>`}${sound ? '' : '?'}`)
    .join(' | ')

test.each([
  ['no-store', 'no-store'],
  ['No-Store, MAX-AGE=3', 'no-store | max-age=<3>'],
  [' a ,\tb ', 'a | b'],
  [',, a,,b ,', 'a | b'],
  ['max-age="3"', 'max-age=<3>'],
  ['private="a, b", c', 'private=<a, b> | c'],
  ['ext="x, max-age=3600", max-age=1', 'ext=<x, max-age=3600> | max-age=<1>'],
  ['ext="a\\"b, no-store", c', 'ext=<a"b, no-store> | c'],
  ['ext="a\\\\", no-store', 'ext=<a\\> | no-store'],
  ['ext=""', 'ext=<>'],
  ['max-age=', 'max-age?'],
  ['max-age =3', 'max-age?'],
  ['max-age= 3', 'max-age?'],
  ['max-age=3;public', 'max-age?'],
  ['max-age=3 public', 'max-age?'],
  ['max-age=1=2', 'max-age?'],
  ['=3', '?'],
  ['"no-store"', '?'],
  ["ext='x, no-store'", "ext=<'x> | no-store'"],
  ['ext="x, no-store, max-age=9', 'ext? | no-store? | max-age=<9>?'],
  ['a, b="c" "', 'a | b?'],
  ['', ''],
])('the directives of %j are %j', (value, expected) => {
  expect(render(value)).toBe(expected)
})

test.each([
  ['no-store', true],
  ['no-store=1', true],
  ['no-store;x', true],
  ['x="y, no-store', true],
  ['x="no-store"', false],
  ['no-stored', false],
])('%j forbids to store: %s', (value, expected) => {
  expect(restricts(parseDirectives(value), 'no-store')).toBe(expected)
})

test.each([
  ['public', true],
  ['PUBLIC', true],
  ['public=1', false],
  ['public;x', false],
  ['x="y, public', false],
])('%j allows to share: %s', (value, expected) => {
  expect(allows(parseDirectives(value), 'public')).toBe(expected)
})

describe('seconds', () => {
  test.each([
    ['max-age=0', 0],
    ['max-age=1', 1000],
    ['max-age="60"', 60_000],
    ['max-age=007', 7000],
    ['MAX-AGE=7', 7000],
    ['max-age=2147483648', 2_147_483_648_000],
    ['max-age=2147483649', 2_147_483_648_000],
    [`max-age=${'9'.repeat(400)}`, 2_147_483_648_000],
    ['max-age=5, max-age=5', 5000],
  ])('of %j', (value, ms) => {
    expect(parseDeltaMs(parseDirectives(value), 'max-age')).toBe(ms)
  })

  test.each([
    'max-age',
    'max-age=',
    'max-age=-1',
    'max-age=+1',
    'max-age=1.0',
    'max-age=1e3',
    'max-age=0x10',
    'max-age=10s',
    "max-age='10'",
    'max-age="10',
    'max-age=" 10"',
    'max-age=10 20',
    'max-age=10, max-age=20',
    'max-age=10, max-age',
    'x="y, max-age=10',
  ])('of %j cannot be read', (value) => {
    expect(parseDeltaMs(parseDirectives(value), 'max-age')).toBeNaN()
  })

  test('are absent', () => {
    expect(parseDeltaMs(parseDirectives('s-maxage=1, x="max-age=1"'), 'max-age')).toBeNull()
  })
})

test.each([
  ['private', 'all'],
  ['private=""', 'all'],
  ['private="a b"', 'all'],
  ['private="a", private', 'all'],
  ['private="a";x', 'all'],
  ['x="y, private="a"', 'all'],
  ['private="X-A, x-b"', ['x-a', 'x-b']],
  ['private=x-a', ['x-a']],
  ['private="x-a", Private=" ,x-b"', ['x-a', 'x-b']],
  ['public', null],
])('%j is about %j', (value, expected) => {
  expect(directiveFields(parseDirectives(value), 'private')).toEqual(expected)
})

const tokens = fc.stringMatching(/^[a-z-]{1,8}$/)
const quotedText = fc.string({ unit: fc.constantFrom('a', ',', '"', '\\', ' ', '=', ';') })

test('a value written by the grammar is read as it was meant', () => {
  const directives = fc.array(fc.tuple(tokens, fc.option(fc.oneof(tokens, quotedText))))
  fc.assert(
    fc.property(directives, fc.constantFrom(',', ', ', ' ,\t', ',,'), (list, comma) => {
      const written = list.map(([name, argument]) =>
        argument === null ? name : `${name}="${argument.replaceAll(/["\\]/g, '\\$&')}"`,
      )

      const read = parseDirectives(written.join(comma))

      expect(read).toEqual(list.map(([name, argument]) => ({ name, argument, sound: true })))
    }),
  )
})

test('any text is read without an error, in a time that grows with its length alone', () => {
  fc.assert(fc.property(fc.string(), (text) => parseDirectives(text).every(({ name }) => name === name.toLowerCase())))
  expect(parseDirectives('a="\\",'.repeat(20_000)).length).toBeGreaterThan(0)
})

test.each([
  ['"a"', true],
  ['""', true],
  ['W/"a"', true],
  ['"a\\"', true],
  ['"a,b"', true],
  ['"\xe9"', true],
  ['a', false],
  ['w/"a"', false],
  ['"a', false],
  ['"a"b"', false],
  ['"a b"', false],
  ['"a", "b"', false],
  ['*', false],
])('%j is an entity tag: %s', (text, expected) => {
  expect(isEntityTag(text)).toBe(expected)
})

// RFC 9110 §8.8.3.2
test.each([
  ['W/"1"', 'W/"1"', false, true],
  ['W/"1"', 'W/"2"', false, false],
  ['W/"1"', '"1"', false, true],
  ['"1"', '"1"', true, true],
])('%s and %s match strongly: %s, weakly: %s', (one, other, strongly, weakly) => {
  expect(matchesStrongly(one, other)).toBe(strongly)
  expect(matchesWeakly(one, other)).toBe(weakly)
})

test.each([
  ['"a"', true],
  ['W/"a"', true],
  ['"b", "a"', true],
  ['"b" ,\t"a"', true],
  [', ,"a",', true],
  ['"x,y", "a"', true],
  ['"b\\", "a"', true],
  ['"b"', false],
  ['"b, \\"a\\""', false],
  ['a', false],
  ['"A"', false],
  ['"ab"', false],
  ['nonsense, "a"', false],
  ['"b" "a"', false],
  ['', false],
])('the list %j has "a": %s', (list, expected) => {
  expect(listMatchesWeakly(list, '"a"')).toBe(expected)
})

test('lines of one name are joined in order', () => {
  expect(joinFieldLines(['A', '1', 'B', '2', 'a', '3'], 'a')).toBe('1, 3')
  expect(joinFieldLines(['B', '2'], 'a')).toBeNull()
  expect(fieldLines(['A', ' 1', 'B', '2', 'a', '3\t'], 'a')).toEqual(['1', '3'])
})

test.each([
  ['a,b', ['a', 'b'], 2],
  ['a="b,c" , d', ['a="b,c"', 'd'], 2],
  ['a="\\",b",c', ['a="\\",b"', 'c'], 2],
  ['a\\,b', ['a\\', 'b'], 2],
  ['a, b="c, d', ['a', 'b="c', 'd'], 1],
  ['"a\\', ['"a\\'], 0],
  [' ', [], 0],
])('%j is split into %j', (list, members, soundUntil) => {
  expect(parseListMembers(list)).toEqual({ members, soundUntil })
})
