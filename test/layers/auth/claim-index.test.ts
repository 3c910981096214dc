import { expect, test } from 'vitest'
import { ClaimIndex } from '../../../src/layers/auth/client-registry.ts'

/** Makes an index of owners by their claims. */
const indexOf = (...all: readonly (readonly [string, Readonly<Record<string, string>>])[]): ClaimIndex<string> => {
  const index = new ClaimIndex<string>()
  for (const [owner, claims] of all) index.add(claims, owner)
  return index
}

test('an owner is found by what all of its claims say', () => {
  const index = indexOf(['a', { client_id: 'robot' }], ['b', { iss: 'i', sub: 's' }])

  expect(index.find({ client_id: 'robot', sub: 'x' })).toBe('a')
  expect(index.find({ iss: 'i', sub: 's' })).toBe('b')
  expect(index.find({ sub: 's' })).toBeNull()
  expect(index.find({ client_id: 'other' })).toBeNull()
})

test('who is known by more is found first, in whatever order they stand', () => {
  const some = ['some', { client_id: 'robot' }] as const
  const more = ['more', { client_id: 'robot', tenant: 't' }] as const

  for (const index of [indexOf(some, more), indexOf(more, some)]) {
    expect(index.find({ client_id: 'robot', tenant: 't' })).toBe('more')
    expect(index.find({ client_id: 'robot', tenant: 'u' })).toBe('some')
  }
})

test('whose claims are those of two who are known by as many is neither, in whatever order they stand', () => {
  const [a, b] = [['a', { client_id: 'robot' }] as const, ['b', { sub: 'human' }] as const]
  const more = ['more', { client_id: 'robot', sub: 'human', tenant: 't' }] as const

  for (const index of [indexOf(a, b, more), indexOf(more, b, a)]) {
    expect(index.find({ client_id: 'robot', sub: 'human' })).toBeNull()
    expect(index.find({ client_id: 'robot', sub: 'human', tenant: 't' })).toBe('more')
    expect(index.find({ client_id: 'robot', sub: 'other' })).toBe('a')
    expect(index.find({ sub: 'human' })).toBe('b')
  }
})

test('what is no text, or only inherited, says nothing', () => {
  const index = indexOf(['a', { client_id: 'robot' }], ['b', { constructor: 'x' }], ['c', { n: '1' }], ['nobody', {}])

  expect(index.find({ client_id: ['robot'] })).toBeNull()
  expect(index.find({ n: 1 })).toBeNull()
  expect(index.find({})).toBeNull()
})
