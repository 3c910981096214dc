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
import { applyToKeys, pairWith } from '../../../helpers/table.ts'

/** Writes directives as they were read: those that are not sound with a `?`. */
const render = (value: string): string =>
  parseDirectives(value)
    .map(({ name, argument, sound }) => `${name}${argument === null ? '' : `=<${argument}>`}${sound ? '' : '?'}`)
    .join(' | ')

test.each<[string, Record<string, string>]>([
  ['of none', { '': '' }],
  ['without an argument', { 'no-store': 'no-store', ' a ,\tb ': 'a | b', ',, a,,b ,': 'a | b' }],
  ['in any case', { 'No-Store, MAX-AGE=3': 'no-store | max-age=<3>' }],
  ['quoted', { 'max-age="3"': 'max-age=<3>', 'ext=""': 'ext=<>', 'private="a, b", c': 'private=<a, b> | c' }],
  ['that look like others in quotes', { 'ext="x, max-age=3600", max-age=1': 'ext=<x, max-age=3600> | max-age=<1>' }],
  [
    'escaped',
    { 'ext="a\\"b, no-store", c': 'ext=<a"b, no-store> | c', 'ext="a\\\\", no-store': 'ext=<a\\> | no-store' },
  ],
  ['with an argument that is none', { 'max-age=': 'max-age?', 'max-age =3': 'max-age?', 'max-age= 3': 'max-age?' }],
  ['with more', { 'max-age=3;public': 'max-age?', 'max-age=3 public': 'max-age?', 'max-age=1=2': 'max-age?' }],
  ['without a name', { '=3': '?', '"no-store"': '?', 'a, b="c" "': 'a | b?' }],
  ['in the wrong quotes', { "ext='x, no-store'": "ext=<'x> | no-store'" }],
  ['in quotes without an end', { 'ext="x, no-store, max-age=9': 'ext? | no-store? | max-age=<9>?' }],
])('directives %s: %j', (_, values) => {
  expect(applyToKeys(values, render)).toEqual(values)
})

test('a directive that is not sound forbids, and allows nothing', () => {
  const [forbids, no] = [true, false]
  const forbidding = { 'no-store': forbids, 'no-store=1': forbids, 'no-store;x': forbids, 'x="y, no-store': forbids }
  const other = { 'x="no-store"': no, 'no-stored': no }
  const allowing = { public: true, PUBLIC: true, 'public=1': no, 'public;x': no, 'x="y, public': no }

  const values = { ...forbidding, ...other }
  expect(applyToKeys(values, (value) => restricts(parseDirectives(value), 'no-store'))).toEqual(values)
  expect(applyToKeys(allowing, (value) => allows(parseDirectives(value), 'public'))).toEqual(allowing)
})

describe('seconds', () => {
  const [most, none] = [2_147_483_648_000, Number.NaN]

  test.each<[string, Record<string, number | null>]>([
    ['are read', { 'max-age=0': 0, 'max-age=1': 1000, 'max-age="60"': 60_000, 'max-age=007': 7000, 'MAX-AGE=7': 7000 }],
    ['are bounded', { 'max-age=2147483648': most, 'max-age=2147483649': most, [`max-age=${'9'.repeat(400)}`]: most }],
    ['may stand there twice, the same', { 'max-age=5, max-age=5': 5000 }],
    ['are not those of another directive', { 's-maxage=1, x="max-age=1"': null }],
    ['need a number', { 'max-age': none, 'max-age=': none, 'max-age=10, max-age': none, 'max-age=10s': none }],
    ['need digits', { 'max-age=-1': none, 'max-age=+1': none, 'max-age=1e3': none, 'max-age=0x10': none }],
    ['need quotes', { "max-age='10'": none, 'max-age="10': none, 'max-age=" 10"': none, 'x="y, max-age=10': none }],
    ['are one whole number', { 'max-age=10 20': none, 'max-age=10, max-age=20': none, 'max-age=1.0': none }],
  ])('%s: %j', (_, values) => {
    expect(applyToKeys(values, (value) => parseDeltaMs(parseDirectives(value), 'max-age'))).toEqual(values)
  })
})

test.each<[what: unknown, values: readonly string[]]>([
  ['all', ['private', 'private=""', 'private="a b"', 'private="a", private', 'private="a";x', 'x="y, private="a"']],
  ['x-a x-b'.split(' '), ['private="X-A, x-b"', 'private="x-a", Private=" ,x-b"']],
  [['x-a'], ['private=x-a']],
  [null, ['public']],
])('about %j are %j', (expected, values) => {
  const abouts = pairWith(values, (value) => directiveFields(parseDirectives(value), 'private'))

  expect(abouts).toEqual(pairWith(values, () => expected))
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
  [true, ['"a"', '""', 'W/"a"', '"a\\"', '"a,b"', '"\xe9"']],
  [false, ['a', 'w/"a"', '"a', '"a"b"', '"a b"', '"a", "b"', '*']],
])('is an entity tag: %s: %j', (expected, texts) => {
  expect(texts.filter((text) => isEntityTag(text) !== expected)).toEqual([])
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
  [true, ['"a"', 'W/"a"', '"b", "a"', '"b" ,\t"a"', ', ,"a",', '"x,y", "a"', '"b\\", "a"']],
  [false, ['"b"', '"b, \\"a\\""', 'a', '"A"', '"ab"', 'nonsense, "a"', '"b" "a"', '']],
])('has "a": %s: the lists %j', (expected, lists) => {
  expect(lists.filter((list) => listMatchesWeakly(list, '"a"') !== expected)).toEqual([])
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
