import { expect, test } from 'vitest'
import { ClaimIndex } from '../../../src/features/auth/client-registry.ts'

/** Creates an index of owners by their claims. */
const createIndex = (...all: readonly (readonly [string, Readonly<Record<string, string>>])[]): ClaimIndex<string> => {
  const index = new ClaimIndex<string>()
  for (const [owner, claims] of all) index.add(claims, owner)
  return index
}

test('an owner is found when all of its claims match', () => {
  const index = createIndex(['a', { client_id: 'robot' }], ['b', { iss: 'i', sub: 's' }])

  expect(index.find({ client_id: 'robot', sub: 'x' })).toBe('a')
  expect(index.find({ iss: 'i', sub: 's' })).toBe('b')
  expect(index.find({ sub: 's' })).toBeNull()
  expect(index.find({ client_id: 'other' })).toBeNull()
})

test('an owner with more claims is found first, in whatever order they stand', () => {
  const some = ['some', { client_id: 'robot' }] as const
  const more = ['more', { client_id: 'robot', tenant: 't' }] as const

  for (const index of [createIndex(some, more), createIndex(more, some)]) {
    expect(index.find({ client_id: 'robot', tenant: 't' })).toBe('more')
    expect(index.find({ client_id: 'robot', tenant: 'u' })).toBe('some')
  }
})

test('claims that match two owners of as many claims find neither, in whatever order they stand', () => {
  const [a, b] = [['a', { client_id: 'robot' }] as const, ['b', { sub: 'human' }] as const]
  const more = ['more', { client_id: 'robot', sub: 'human', tenant: 't' }] as const

  for (const index of [createIndex(a, b, more), createIndex(more, b, a)]) {
    expect(index.find({ client_id: 'robot', sub: 'human' })).toBeNull()
    expect(index.find({ client_id: 'robot', sub: 'human', tenant: 't' })).toBe('more')
    expect(index.find({ client_id: 'robot', sub: 'other' })).toBe('a')
    expect(index.find({ sub: 'human' })).toBe('b')
  }
})

test('a claim that is no text, or only inherited, does not match', () => {
  const index = createIndex(['a', { client_id: 'robot' }], ['b', { constructor: 'x' }], ['c', { n: '1' }], ['x', {}])

  expect(index.find({ client_id: ['robot'] })).toBeNull()
  expect(index.find({ n: 1 })).toBeNull()
  expect(index.find({})).toBeNull()
})
