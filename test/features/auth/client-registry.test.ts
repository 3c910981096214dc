import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { deepFreeze } from '../../../src/core/lib/plain-object.ts'
import { ClaimIndex, getClientRegistry } from '../../../src/features/auth/client-registry.ts'

const client = (id: string, secret = 'a') => ({
  id,
  disabled: false,
  apiKeys: [{ id: `${id}-1`, sha256: hash('sha256', secret) }],
  claims: {},
  certificates: [`dns:${id}.example`],
  operations: null,
  addresses: [],
})

test('the same list of clients has the same index, and another list has not', () => {
  const before = deepFreeze([client('a'), client('b')])

  expect(getClientRegistry(before)).toBe(getClientRegistry(before))
  expect(getClientRegistry([...before])).not.toBe(getClientRegistry(before))
})

test('beside unchanged clients, an edited one has its new settings, and a removed one is gone', () => {
  const [stays, edited, removed] = deepFreeze([client('stays'), client('edited'), client('removed')] as const)
  const before = getClientRegistry(deepFreeze([stays, edited, removed]))

  const after = getClientRegistry(deepFreeze([stays, { ...client('edited', 'another secret'), disabled: true }]))

  expect(after.byKey('stays-1')).toBe(before.byKey('stays-1'))
  expect(after.byKey('edited-1')?.client.disabled).toBe(true)
  expect(after.byKey('edited-1')?.digest.toString('hex')).toBe(hash('sha256', 'another secret'))
  expect(after.byKey('removed-1')).toBeUndefined()
  expect(after.byCertificate('dns:removed.example')).toBeUndefined()
  expect(before.byKey('removed-1')?.client.id).toBe('removed')
})

test('a list that can still change is indexed anew', () => {
  const list = [client('a')]
  getClientRegistry(list)
  list.push(client('b'))

  expect(getClientRegistry(list).byKey('b-1')?.client.id).toBe('b')
})

describe('by claims,', () => {
  /** Creates an index of owners by their claims. */
  const createIndex = (
    ...all: readonly (readonly [string, Readonly<Record<string, string>>])[]
  ): ClaimIndex<string> => {
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
})
