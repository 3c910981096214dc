import { expect, test } from 'vitest'
import { createPendingPurges, createRedisCacheStore } from '../../../../src/features/cache/redis/redis-cache-store.ts'
import {
  baseKey,
  type CacheKeySpace,
  generationKeys,
  purgedGenerationKeys,
  queryGenerationKey,
  variantKey,
} from '../../../../src/features/cache/redis/redis-entry.ts'
import { keySlot } from '../../../../src/features/redis/redis-cluster.ts'
import type { ScriptArgs } from '../../../../src/features/redis/redis-server.ts'

const cluster: CacheKeySpace = { prefix: 'test', isCluster: true }
const server: CacheKeySpace = { prefix: 'test', isCluster: false }
const key = { client: 'a', site: 'b', query: 'c' }

const keysOf = (space: CacheKeySpace): readonly string[] => {
  const base = baseKey(space, 'shape', 'market.insights', key)
  return [base, variantKey(base, 'selecting'), ...generationKeys(space, 'market.insights', key)]
}

test('in a cluster, all keys of one operation are of one slot', () => {
  const all = [
    ...keysOf(cluster),
    queryGenerationKey(cluster, 'market.insights', 'd'),
    ...purgedGenerationKeys(cluster, { operation: 'market.insights', client: 'e' }),
  ]

  expect(new Set(all.map(keySlot)).size).toBe(1)
  expect(all.every((each) => each.startsWith('test:cache:{market.insights}:'))).toBe(true)
})

test('elsewhere the keys are those of the versions before', () => {
  expect(keysOf(server)[0]).toMatch(/^test:cache:[\w-]{43}$/)
  expect(keysOf(server)[2]).toBe('test:cache:of:market.insights')
})

test.each([
  [cluster, 4],
  [server, 1],
])('a purge of all operations runs a script for each slot: %j', async (space, scripts) => {
  const ran: (readonly string[])[] = []
  const run = (_: unknown, { keys }: ScriptArgs): Promise<unknown> => {
    ran.push(keys)
    return Promise.resolve(1)
  }
  const store = createRedisCacheStore({ isShared: true, timeoutMs: 20, run }, space)
  const purged = purgedGenerationKeys(space, { operation: null, client: null })

  expect(await store.purges.add(purged)).toBe(true)

  expect(ran).toHaveLength(scripts)
  expect(ran.flat().sort()).toEqual([...purged].sort())
  if (space.isCluster) for (const keys of ran) expect(new Set(keys.map(keySlot)).size).toBe(1)
})

test.each([cluster, server])('too many purges become one of their operation: %j', async (space) => {
  const link = { isShared: false, timeoutMs: 20, run: () => Promise.resolve(null) }
  const store = createRedisCacheStore(link, space)
  const operation = 'market.insights'
  const queries = Array.from({ length: 10_000 }, (_, n) => queryGenerationKey(space, operation, `?${n}`))
  await store.purges.add([...purgedGenerationKeys(space, { operation, client: 'bank-a' }), ...queries])

  expect(store.purges.keys()).toEqual(purgedGenerationKeys(space, { operation, client: null }))
})

test('a purge of which Redis takes one part and not another is not acknowledged', async () => {
  let nth = 0
  const run = (): Promise<unknown> => Promise.resolve(nth++ === 2 ? null : 1)
  const store = createRedisCacheStore({ isShared: true, timeoutMs: 20, run }, cluster)

  expect(await store.purges.add(purgedGenerationKeys(cluster, { operation: null, client: null }))).toBe(false)
})

/** Creates a Redis that is available or not; a test acknowledges the purges sent to it. */
const scripted = (isAvailable: boolean) => {
  const redis = { isAvailable, sent: [] as (readonly string[])[], acknowledge: (): void => {} }
  const purges = createPendingPurges(['one', 'other'], (keys) => {
    redis.sent.push(keys)
    const { isAvailable } = redis
    return new Promise((resolve) => {
      redis.acknowledge = () => resolve(isAvailable)
    })
  })
  return { redis, purges }
}

test('an unacknowledged purge is pending, and sent again at the next lookup', async () => {
  const { redis, purges } = scripted(false)
  const added = purges.add(['a', 'b'])
  redis.acknowledge()
  expect(await added).toBe(false)

  redis.isAvailable = true
  expect(purges.has(['x'])).toBe(false) // a key that is not pending
  expect(purges.has(['x', 'b'])).toBe(true)
  redis.acknowledge()
  await Promise.resolve()
  await Promise.resolve()

  expect(redis.sent).toEqual(Array(2).fill(['a', 'b']))
  expect(purges.has(['a', 'b'])).toBe(false)
})

test('a purge that is repeated while it is sent stays pending', async () => {
  const { redis, purges } = scripted(true)
  const first = purges.add(['a'])
  const { acknowledge } = redis
  redis.isAvailable = false
  const second = purges.add(['a'])
  acknowledge()
  expect(await first).toBe(true)

  expect(purges.has(['a'])).toBe(true)
  redis.acknowledge()
  expect(await second).toBe(false)
})

test('many pending purges are sent again in batches, as long as Redis acknowledges them', async () => {
  const keys = Array.from({ length: 1200 }, (_, n) => `key ${n}`)
  const redis = { isAvailable: false, batches: [] as number[] }
  const purges = createPendingPurges(['one'], async (sent) => {
    redis.batches.push(sent.length)
    return redis.isAvailable
  })
  await purges.add(keys)

  await purges.resend()
  redis.isAvailable = true
  await purges.resend()

  expect([redis.batches, purges.has(keys)]).toEqual([[1200, 500, 500, 500, 200], false])
})

// The attack: while Redis is down, a client asks for thousands of queries that are not found.
test('more purges than can be remembered cover the operation that has the most, and no other', async () => {
  const { redis, purges } = scripted(false)
  const added = purges.add(['other:0', ...Array.from({ length: 10_000 }, (_, n) => `one:${n}`)])
  redis.acknowledge()
  await added

  expect(purges.keys()).toEqual(['other:0', 'one'])
})
