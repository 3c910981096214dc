import { expect, test } from 'vitest'
import { compileHeaderMutation } from '../../../../src/core/upstream/http1/write-request.ts'

const repeated = ['x-key', 'a', 'Accept', 'b', 'X-KEY', 'c']
const replaced = ['Accept', 'b', 'X-Key', 'new', 'X-O', 'o']
const gone = ['A', '1', 'x-gone', '2', 'a', '3', 'X-Gone', '4']

test.each<[string, Record<string, string>, readonly string[], readonly string[], readonly string[]]>([
  ['set replaces every field of the name, at the end', { 'X-Key': 'new', 'X-O': 'o' }, [], repeated, replaced],
  ['remove drops every field of the name, in any case, and no other', {}, ['X-GONE'], gone, ['A', '1', 'a', '3']],
  ['a field that is removed and set is set', { 'X-Key': 'new' }, ['x-key'], ['X-Key', 'old'], ['X-Key', 'new']],
])('%s', (_, set, remove, fields, expected) => {
  const settings = Object.entries(set).map(([name, value]) => ({ name, value, secret: false, hidden: true }))

  // The original list is not changed.
  expect(compileHeaderMutation({ set: settings, remove })?.(Object.freeze(fields))).toEqual(expected)
})

test('without changes there is no function', () => {
  expect(compileHeaderMutation({ set: [], remove: [] })).toBeNull()
})
