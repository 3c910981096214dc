import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createRedisCacheStore, type RedisCacheStore } from '../../../../src/features/cache/redis/redis-cache-store.ts'
import { storeScript } from '../../../../src/features/cache/redis/redis-entry.ts'
import { ManagedRedis } from '../../../../src/features/redis/managed-redis.ts'
import type { RedisConnection } from '../../../../src/features/redis/redis-connection.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

/** Lets so much time pass, and everything that happens meanwhile. */
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

/** Opens a store in a Redis that a test silences; its time-out is 20 ms. */
const openStore = async () => {
  const redis = { isSilent: false, ran: 0 }
  const run: RedisConnection['run'] = () => {
    redis.ran++
    return redis.isSilent ? new Promise(() => {}) : new Promise((resolve) => setTimeout(resolve, 5, 1))
  }
  const link = new ManagedRedis({
    connect: () =>
      Promise.resolve({
        run,
        consume: () => Promise.resolve(1),
        probe: () => Promise.resolve(true),
        destroy: () => {},
      }),
    timeoutMs: 20,
    onChange: () => {},
  })
  await pass(0)
  return { redis, link, store: createRedisCacheStore(link, { prefix: 'test', isCluster: false }) }
}

/** Ends a generation while a request waits, and notes what came of it. */
const endInTime = (store: RedisCacheStore) => {
  const outcome: { isRenewed: boolean | 'pending' | null } = { isRenewed: 'pending' }
  const renewed = store.renewGenerationsInTime(['key'])
  if (renewed === null) outcome.isRenewed = null
  renewed?.then((isRenewed) => {
    outcome.isRenewed = isRenewed
  })
  return outcome
}

test('a request waits until Redis knows that a generation has ended', async () => {
  const { link, store } = await openStore()
  const outcome = endInTime(store)

  await pass(4)
  expect(outcome.isRenewed).toBe('pending')
  await pass(1)
  expect(outcome.isRenewed).toBe(true)
  link.close()
})

test('it waits for a silent Redis as long as for a lookup, and no longer', async () => {
  const { redis, link, store } = await openStore()
  redis.isSilent = true
  const outcome = endInTime(store)

  await pass(19)
  expect(outcome.isRenewed).toBe('pending')
  await pass(2) // a timer never fires early
  expect(outcome.isRenewed).toBe(false)
  link.close()
})

test('five such waits in a row, and none waits any more', async () => {
  const { redis, link, store } = await openStore()
  redis.isSilent = true
  for (let n = 0; n < 5; n++) {
    endInTime(store)
    await pass(21)
  }
  const ranBefore = redis.ran

  expect(endInTime(store).isRenewed).toBeNull()
  expect(redis.ran).toBe(ranBefore)
  link.close()
})

test('a response that is removed before its turn has come is not written after', async () => {
  const replies: (() => void)[] = []
  const ran: string[] = []
  const run: ManagedRedis['run'] = async (script, { keys: [key = ''] }) => {
    ran.push(`${script === storeScript ? 'store' : 'remove'} ${key}`)
    if (script === storeScript) await new Promise<void>((resolve) => replies.push(resolve))
    return 1
  }
  const store = createRedisCacheStore({ isShared: true, timeoutMs: 20, run }, { prefix: 'test', isCluster: false })
  const write = (base: string) => store.write({ base, bytes: 1, toScriptArgs: () => ({ keys: [base], args: [] }) })

  for (const base of ['first', 'removed', 'last']) write(base)
  void store.remove('removed', ['removed'])
  for (let n = 0; n < 3; n++) {
    replies.shift()?.()
    await pass(0)
  }

  expect(ran).toEqual(['store first', 'remove removed', 'store last'])
  expect(store.counts.dropped).toBe(0)
})
