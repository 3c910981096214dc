import { expect, test } from 'vitest'
import type { ClientConfig } from '../../src/config/config.ts'
import { deepFreeze } from '../../src/config/freeze.ts'
import { Limiters } from '../../src/shared/limiter/limiters.ts'
import { holdClientLimits } from '../../src/snapshot/client-limits.ts'
import { testConfig } from '../helpers/gateway.ts'

const { limits } = testConfig()

const client = (id: string, count: number | null, concurrency: number | null = null): ClientConfig => ({
  id,
  disabled: false,
  apiKeys: [],
  claims: {},
  certificates: [],
  operations: null,
  addresses: [],
  rate: count === null ? null : { count, perMs: 1000 },
  burst: count,
  concurrency,
})

const alone = () => new Limiters({ is: 'alone' }, () => {})

test('a reload goes on with the counts of clients that are the very same, also when the one before has ended', () => {
  const limiters = alone()
  const clients = deepFreeze([client('a', 1), client('b', 1)])
  const before = holdClientLimits(clients, limits, limiters)
  const counted = before.limiterOf('a')
  const after = holdClientLimits(clients, limits, limiters)
  before.release()

  expect(after.limiterOf('a')).toBe(counted)
  expect(after.limiterOf('b')).toBe(counted)
  expect(after.rated).toBe(2)
})

test('the same clients count with the limiters of whoever holds them', () => {
  const clients = deepFreeze([client('a', 1)])
  const one = holdClientLimits(clients, limits, alone())
  const other = holdClientLimits(clients, limits, alone())

  expect(other.limiterOf('a')).not.toBe(one.limiterOf('a'))
})

test('of an edited list, each has the rate and the bound that its entry says', () => {
  const limiters = alone()
  const before = deepFreeze([client('a', 5, 7), client('b', 5), client('c', 5, 3)])
  holdClientLimits(before, limits, limiters)

  const after = holdClientLimits(deepFreeze([client('a', 9), client('b', null, 4)]), limits, limiters)

  expect(['a', 'b', 'c'].map((id) => after.limiterOf(id)?.limit.burst)).toEqual([9, undefined, undefined])
  expect(['a', 'b', 'c'].map((id) => after.boundOf(id))).toEqual([null, 4, null])
})

test('each of several workers has its part of what a client may have in flight, rounded up', () => {
  const worker = new Limiters({ is: 'worker', of: 3, withinMs: 1, ask: async () => null }, () => {})
  const { boundOf } = holdClientLimits(deepFreeze([client('a', null, 4), client('b', null, 1)]), limits, worker)

  expect([boundOf('a'), boundOf('b'), boundOf('c')]).toEqual([2, 1, null])
})
