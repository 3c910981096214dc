import { expect, test } from 'vitest'
import { deepFreeze } from '../../../src/core/lib/plain-object.ts'
import type { ClientConfig } from '../../../src/features/auth/clients/config.ts'
import { createRateLimiters } from '../../../src/features/limits/rate-limiters.ts'
import { acquireClientLimits } from '../../../src/features/limits/runtime.ts'
import { RedisRegistry } from '../../../src/features/redis/redis-registry.ts'
import { testConfig } from '../../helpers/gateway.ts'

const { limits } = testConfig()

const client = (id: string, count: number | null, concurrency: number | null = null): ClientConfig => ({
  ...{ id, disabled: false, apiKeys: [], claims: {}, certificates: [], operations: null, addresses: [] },
  ...{ rate: count === null ? null : { count, perMs: 1000 }, burst: count, concurrency },
})

const createRegistry = () => createRateLimiters({ kind: 'alone' }, new RedisRegistry(() => {}))

test('a reload goes on with the counts of clients that are the very same, also when the previous snapshot has ended', () => {
  const limiters = createRegistry()
  const clients = deepFreeze([client('a', 1), client('b', 1)])
  const before = acquireClientLimits(clients, limits, limiters)
  const counted = before.getRateLimiter('a')
  const after = acquireClientLimits(clients, limits, limiters)
  before.release()

  expect(after.getRateLimiter('a')).toBe(counted)
  expect(after.getRateLimiter('b')).toBe(counted)
  expect(after.rateLimitedCount).toBe(2)
})

test('the same clients count with the limiters of each registry', () => {
  const clients = deepFreeze([client('a', 1)])
  const one = acquireClientLimits(clients, limits, createRegistry())
  const other = acquireClientLimits(clients, limits, createRegistry())

  expect(other.getRateLimiter('a')).not.toBe(one.getRateLimiter('a'))
})

test('of an edited list, each has the rate and the concurrency limit of its entry', () => {
  const limiters = createRegistry()
  const before = deepFreeze([client('a', 5, 7), client('b', 5), client('c', 5, 3)])
  acquireClientLimits(before, limits, limiters)

  const after = acquireClientLimits(deepFreeze([client('a', 9), client('b', null, 4)]), limits, limiters)

  expect(['a', 'b', 'c'].map((id) => after.getRateLimiter(id)?.limit.burst)).toEqual([9, undefined, undefined])
  expect(['a', 'b', 'c'].map((id) => after.getConcurrencyLimit(id))).toEqual([null, 4, null])
})

test('each of several workers has its share of what a client may have in flight, rounded up', () => {
  const place = { kind: 'worker', workerCount: 3, timeoutMs: 1, askPrimary: async () => null } as const
  const worker = createRateLimiters(place, new RedisRegistry(() => {}))
  const clients = deepFreeze([client('a', null, 4), client('b', null, 1)])

  const { getConcurrencyLimit } = acquireClientLimits(clients, limits, worker)

  expect(['a', 'b', 'c'].map(getConcurrencyLimit)).toEqual([2, 1, null])
})
