import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  allows,
  directiveFields,
  parseDeltaMs,
  parseDirectives,
  restricts,
} from '../../../../src/features/cache/policy/fields.ts'

describe('directives', () => {
  test.each([
    ['no-store', [['no-store', null, true]]],
    [
      'No-Store, MAX-AGE=3',
      [
        ['no-store', null, true],
        ['max-age', '3', true],
      ],
    ],
    [
      ' a ,\tb ',
      [
        ['a', null, true],
        ['b', null, true],
      ],
    ],
    [
      ',, a,,b ,',
      [
        ['a', null, true],
        ['b', null, true],
      ],
    ],
    ['max-age="3"', [['max-age', '3', true]]],
    [
      'private="a, b", c',
      [
        ['private', 'a, b', true],
        ['c', null, true],
      ],
    ],
    [
      'ext="x, max-age=3600", max-age=1',
      [
        ['ext', 'x, max-age=3600', true],
        ['max-age', '1', true],
      ],
    ],
    [
      'ext="a\\"b, no-store", c',
      [
        ['ext', 'a"b, no-store', true],
        ['c', null, true],
      ],
    ],
    [
      'ext="a\\\\", no-store',
      [
        ['ext', 'a\\', true],
        ['no-store', null, true],
      ],
    ],
    ['ext=""', [['ext', '', true]]],
    ['max-age=', [['max-age', null, false]]],
    ['max-age =3', [['max-age', null, false]]],
    ['max-age= 3', [['max-age', null, false]]],
    ['max-age=3;public', [['max-age', null, false]]],
    ['max-age=3 public', [['max-age', null, false]]],
    ['max-age=1=2', [['max-age', null, false]]],
    ['=3', [['', null, false]]],
    ['"no-store"', [['', null, false]]],
    [
      "ext='x, no-store'",
      [
        ['ext', "'x", true],
        ["no-store'", null, true],
      ],
    ],
    [
      'ext="x, no-store, max-age=9',
      [
        ['ext', null, false],
        ['no-store', null, false],
        ['max-age', '9', false],
      ],
    ],
    [
      'a, b="c" "',
      [
        ['a', null, true],
        ['b', null, false],
      ],
    ],
    ['', []],
  ] as const)('of %j', (value, expected) => {
    expect(parseDirectives(value).map(({ name, argument, sound }) => [name, argument, sound])).toEqual(expected)
  })
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

test('whatever else a field holds, no-store between commas is seen', () => {
  const anything = fc.string({ unit: fc.constantFrom('a', '=', ' ', ';', '1', '-') })
  fc.assert(
    fc.property(anything, anything, (before, after) => {
      expect(restricts(parseDirectives(`${before},no-store,${after}`), 'no-store')).toBe(true)
    }),
  )
})

test('any text is read without an error, in a time that grows with its length alone', () => {
  fc.assert(fc.property(fc.string(), (text) => parseDirectives(text).every(({ name }) => name === name.toLowerCase())))
  expect(parseDirectives('a="\\",'.repeat(20_000)).length).toBeGreaterThan(0)
})
