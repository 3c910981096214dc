import { expect, test } from 'vitest'
import {
  isEntityTag,
  listMatchesWeakly,
  matchesStrongly,
  matchesWeakly,
} from '../../../../src/features/cache/policy/fields.ts'

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
