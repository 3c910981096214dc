import { expect, test } from 'vitest'
import { createPendingPurges } from '../../../../src/features/cache/redis/redis-cache-store.ts'

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

  expect(redis.sent).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ])
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

  expect(redis.batches).toEqual([1200, 500, 500, 500, 200])
  expect(purges.has(keys)).toBe(false)
})

// The attack: while Redis is down, a client asks for thousands of queries that are not found.
test('more purges than can be remembered cover the operation that has the most, and no other', async () => {
  const { redis, purges } = scripted(false)
  const added = purges.add(['other:0', ...Array.from({ length: 10_000 }, (_, n) => `one:${n}`)])
  redis.acknowledge()
  await added

  expect(purges.keys()).toEqual(['other:0', 'one'])
})
