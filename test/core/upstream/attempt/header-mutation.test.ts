import { expect, test } from 'vitest'
import { compileHeaderMutation } from '../../../../src/core/upstream/http1/write-request.ts'

test.each<[string, Record<string, string>, readonly string[], readonly string[], readonly string[]]>([
  [
    'set replaces every field of the name and stands at the end',
    { 'X-Key': 'new', 'X-Other': 'o' },
    [],
    ['x-key', 'a', 'Accept', 'b', 'X-KEY', 'c'],
    ['Accept', 'b', 'X-Key', 'new', 'X-Other', 'o'],
  ],
  [
    'remove drops every field of the name, in any case, and leaves the rest as it was',
    {},
    ['X-GONE'],
    ['A', '1', 'x-gone', '2', 'a', '3', 'X-Gone', '4'],
    ['A', '1', 'a', '3'],
  ],
  ['a field that is removed and set is set', { 'X-Key': 'new' }, ['x-key'], ['X-Key', 'old'], ['X-Key', 'new']],
])('%s', (_, set, remove, fields, expected) => {
  const settings = Object.entries(set).map(([name, value]) => ({ name, value, secret: false, hidden: true }))

  // The original list is not changed.
  expect(compileHeaderMutation({ set: settings, remove })?.(Object.freeze(fields))).toEqual(expected)
})

test('without changes there is no function', () => {
  expect(compileHeaderMutation({ set: [], remove: [] })).toBeNull()
})
