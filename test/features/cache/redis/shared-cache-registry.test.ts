import { expect, test } from 'vitest'
import { createCachePartition } from '../../../../src/features/cache/partition.ts'
import { renewScript } from '../../../../src/features/cache/redis/redis-entry.ts'
import { createSharedCacheRegistry } from '../../../../src/features/cache/redis/shared-cache-registry.ts'
import { CacheStore } from '../../../../src/features/cache/store/cache-store.ts'
import type { RedisConfig } from '../../../../src/features/redis/config.ts'
import { scriptedRedis } from '../../../helpers/scripted-redis.ts'
import { redisSettings } from '../../redis/redis-settings.ts'
import { settled } from '../helper.ts'
import { createRequest, rules } from '../policy/helper.ts'

const everything = { operation: null, client: null } as const
const operation = 'market.insights'

/** Starts a Redis, and returns its settings, and the keys of generations that it was told have ended. */
const startTold = async () => {
  const redis = await scriptedRedis(() => undefined)
  const told = (): readonly string[] =>
    redis.commands.flatMap(([command, sha, count, ...words]) =>
      command === 'EVALSHA' && sha === renewScript.sha ? words.slice(0, Number(count)) : [],
    )
  const config: RedisConfig = redisSettings({ url: `redis://127.0.0.1:${redis.port}` })
  return { config, told }
}

/** The settings of a Redis that is not there, with the same keys. */
const away: RedisConfig = redisSettings({ url: 'redis://127.0.0.1:1' })

test('what Redis was not told before cache.redis was taken out of the file, it is told when it is in it again', async () => {
  const { config, told } = await startTold()
  const registry = createSharedCacheRegistry(() => {})
  const first = registry.acquire(away)
  const isPurged = await registry.purge({ operation, client: null })
  first.release()

  const second = registry.acquire(config)

  await expect.poll(told).toContain(`test:cache:of:${operation}`)
  expect(isPurged).toBe(false)
  second.release()
})

test('so it is of what has ended in between, which nothing waits for', async () => {
  const { config, told } = await startTold()
  const registry = createSharedCacheRegistry(() => {})
  registry.acquire(away).release()
  const invalidated = registry.invalidate([{ operation, query: '?a=1' }])
  const isPurged = await registry.purge({ operation: 'leads.pipeline', client: null })

  const lease = registry.acquire(config)

  await expect.poll(told).toHaveLength(2)
  expect(told()[0]).toMatch(/^test:cache:of:market\.insights:query:/)
  expect(told()[1]).toBe('test:cache:of:leads.pipeline')
  expect([invalidated, isPurged]).toEqual([null, true])
  lease.release()
})

test('what the upstream takes back while an edit of cache.redis takes effect, Redis is told by its new settings', async () => {
  const { config, told } = await startTold()
  const registry = createSharedCacheRegistry(() => {})
  const first = registry.acquire(away)
  const second = registry.acquire(config)
  await expect.poll(() => second.state().isShared).toBe(true)
  const partition = createCachePartition(new CacheStore(1024), operation)
  const events = { onError: () => {}, onRevalidationFailed: () => {} }
  const tier = first.createTier({ partition, rules: rules(), events, shape: 'shape' })
  tier.lookUp({ client: '', site: '', query: '?a=1' }, 'key', createRequest()).remove()
  await settled()

  first.release()

  await expect.poll(told).toEqual([expect.stringMatching(/^test:cache:of:market\.insights:query:/)])
  second.release()
})

test('a Redis with other keys is told nothing of it', async () => {
  const { config, told } = await startTold()
  const registry = createSharedCacheRegistry(() => {})
  const first = registry.acquire({ ...away, prefix: 'other' })
  await registry.purge(everything)
  first.release()

  const second = registry.acquire(config)

  await expect.poll(() => second.state().isShared).toBe(true)
  expect(told()).toEqual([])
  second.release()
})
