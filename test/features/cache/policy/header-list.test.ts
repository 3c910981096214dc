import { expect, test } from 'vitest'
import { fieldLines, joinFieldLines, parseListMembers } from '../../../../src/features/cache/policy/fields.ts'

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
