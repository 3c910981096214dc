import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { deepFreeze } from '../../../src/core/lib/plain-object.ts'
import { ClaimIndex, getClientRegistry } from '../../../src/features/auth/client-registry.ts'

const client = (id: string, secret = 'a') => ({
  ...{ id, disabled: false, claims: {}, operations: null, addresses: [] },
  apiKeys: [{ id: `${id}-1`, sha256: hash('sha256', secret) }],
  certificates: [`dns:${id}.example`],
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
  type Owner = readonly [owner: string, claims: Readonly<Record<string, string>>]
  const robot: Owner = ['a', { client_id: 'robot' }]
  const human: Owner = ['b', { sub: 'human' }]
  const both: Owner = ['more', { client_id: 'robot', sub: 'human', tenant: 't' }]
  const owners: readonly Owner[] = [robot, human, both, ['i', { iss: 'i', sub: 's' }], ['c', { constructor: 'x' }]]

  test.each<[string, Readonly<Record<string, unknown>>, string | null]>([
    ['all of whose claims match', { iss: 'i', sub: 's' }, 'i'],
    ['whose claims match beside others', { client_id: 'robot', sub: 'x' }, 'a'],
    ['none of one claim of two', { sub: 's' }, null],
    ['none of another value', { client_id: 'other' }, null],
    ['the one with more claims first', { client_id: 'robot', sub: 'human', tenant: 't' }, 'more'],
    ['neither of two with as many', { client_id: 'robot', sub: 'human' }, null],
    ['the one whose claims are there', { client_id: 'robot', tenant: 'u' }, 'a'],
    ['none of what is no text', { client_id: ['robot'] }, null],
    ['none of what is only inherited', {}, null],
  ])('an owner is found, in whatever order they stand: %s', (_, claims, expected) => {
    for (const order of [owners, owners.toReversed()]) {
      const index = new ClaimIndex<string>()
      for (const [owner, named] of [...order, ['nobody', {}] as const]) index.add(named, owner)

      expect(index.find(claims)).toBe(expected)
    }
  })
})
