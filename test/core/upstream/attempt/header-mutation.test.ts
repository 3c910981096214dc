import { expect, test } from 'vitest'
import { compileHeaderMutation } from '../../../../src/core/upstream/http1/write-request.ts'

const set = (...fields: readonly (readonly [string, string])[]) =>
  fields.map(([name, value]) => ({ name, value, secret: false, hidden: true }))

test('without changes there is no function', () => {
  expect(compileHeaderMutation({ set: [], remove: [] })).toBeNull()
})

test('set replaces every field of the name and stands at the end', () => {
  const mutate = compileHeaderMutation({ set: set(['X-Key', 'new'], ['X-Other', 'o']), remove: [] })

  expect(mutate?.(['x-key', 'a', 'Accept', 'b', 'X-KEY', 'c'])).toEqual([
    ...['Accept', 'b', 'X-Key', 'new', 'X-Other', 'o'],
  ])
})

test('remove drops every field of the name, in any case, and leaves the rest as it was', () => {
  const mutate = compileHeaderMutation({ set: [], remove: ['X-GONE'] })

  expect(mutate?.(['A', '1', 'x-gone', '2', 'a', '3', 'X-Gone', '4'])).toEqual(['A', '1', 'a', '3'])
})

test('a field that is removed and set is set', () => {
  const mutate = compileHeaderMutation({ set: set(['X-Key', 'new']), remove: ['x-key'] })

  expect(mutate?.(['X-Key', 'old'])).toEqual(['X-Key', 'new'])
})

test('the original list is not changed', () => {
  const fields = Object.freeze(['A', '1'])

  const mutated = compileHeaderMutation({ set: set(['A', '2']), remove: [] })?.(fields)

  expect(mutated).toEqual(['A', '2'])
  expect(fields).toEqual(['A', '1'])
})
