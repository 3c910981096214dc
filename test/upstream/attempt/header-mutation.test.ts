import { expect, test } from 'vitest'
import { compileHeaderMutation } from '../../../src/upstream/attempt/header-mutation.ts'

const set = (...fields: readonly (readonly [string, string])[]) =>
  fields.map(([name, value]) => ({ name, value, secret: false }))

test('no edits are no function', () => {
  expect(compileHeaderMutation({ set: [], remove: [] })).toBeNull()
})

test('set replaces every field of the name and stands at the end', () => {
  const change = compileHeaderMutation({ set: set(['X-Key', 'new'], ['X-Other', 'o']), remove: [] })

  expect(change?.(['x-key', 'a', 'Accept', 'b', 'X-KEY', 'c'])).toEqual([
    ...['Accept', 'b', 'X-Key', 'new', 'X-Other', 'o'],
  ])
})

test('remove takes every field of the name, in any case, and leaves the rest as it was', () => {
  const change = compileHeaderMutation({ set: [], remove: ['X-GONE'] })

  expect(change?.(['A', '1', 'x-gone', '2', 'a', '3', 'X-Gone', '4'])).toEqual(['A', '1', 'a', '3'])
})

test('what is removed and set is set', () => {
  const change = compileHeaderMutation({ set: set(['X-Key', 'new']), remove: ['x-key'] })

  expect(change?.(['X-Key', 'old'])).toEqual(['X-Key', 'new'])
})

test('the list that came is not changed', () => {
  const fields = Object.freeze(['A', '1'])

  const changed = compileHeaderMutation({ set: set(['A', '2']), remove: [] })?.(fields)

  expect(changed).toEqual(['A', '2'])
  expect(fields).toEqual(['A', '1'])
})
