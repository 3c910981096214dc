import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { cacheLayer } from '../../../../src/features/cache/cache.ts'
import { createCachePartition } from '../../../../src/features/cache/partition.ts'
import { createRedisCacheStore, type RedisCacheStore } from '../../../../src/features/cache/redis/redis-cache-store.ts'
import { findScript, storeScript } from '../../../../src/features/cache/redis/redis-entry.ts'
import { createRedisTier } from '../../../../src/features/cache/redis/redis-tier.ts'
import { CacheStore } from '../../../../src/features/cache/store/cache-store.ts'
import { ManagedRedis } from '../../../../src/features/redis/managed-redis.ts'
import type { RedisConnection } from '../../../../src/features/redis/redis-connection.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { Client, createResponse, fakeUpstream, settled } from '../helper.ts'
import { rules } from '../policy/helper.ts'

const faked = ['setTimeout', 'clearTimeout', 'setImmediate', 'performance', 'Date'] as const
beforeEach(() => void vi.useFakeTimers({ toFake: [...faked] }))
afterEach(() => void vi.useRealTimers())

/** Opens the layer with a tier in a Redis of one entry, which replies to a lookup when the test says so. */
const openTier = () => {
  const upstream = fakeUpstream()
  const store = new CacheStore(1024 * 1024)
  const partition = createCachePartition(store, 'market.insights')
  const events = { onError: vi.fn(), onRevalidationFailed: vi.fn() }
  const lookups: (() => void)[] = []
  let entry: readonly unknown[] = []
  const run: ManagedRedis['run'] = async (script, { args }) => {
    if (script === storeScript) {
      const generation = args[3]
      const names = [generation, generation, generation].map((text) => Buffer.from(text as string))
      entry = [...names, null, Buffer.from(`${Date.now()}`), args[7], args[8]]
      return 1
    }
    if (script !== findScript) {
      entry = []
      return 1
    }
    const found = [Buffer.from(`${Date.now()}`), ...(entry.length === 0 ? [null, null, null] : entry)]
    await new Promise<void>((resolve) => lookups.push(resolve))
    return found
  }
  const link = { isShared: true, timeoutMs: 20, run }
  const shared = createRedisCacheStore(link, { prefix: 'test', isCluster: false })
  const tier = createRedisTier({ store: shared, partition, rules: rules(), events, shape: 'shape' })
  const handle = cacheLayer(rules(), partition, events, tier)(upstream.next)
  const get = async (...fields: string[]) => new Client((await handle(fakeExchange({ fields }))).body).text
  const reply = async (): Promise<void> => {
    for (const each of lookups.splice(0)) each()
    await settled()
  }
  return { store, link, sent: upstream.sent, events, get, reply }
}

const openWithEntry = async () => {
  const stage = openTier()
  const got = stage.get()
  await stage.reply()
  await stage.sent[0]?.respond(createResponse(['Cache-Control', 'max-age=60'], 'old'))
  await got
  stage.store.purge({ operation: null, client: null })
  return stage
}

test('a response in Redis is served in place of a fetch', async () => {
  const { sent, events, get, reply } = await openWithEntry()
  const got = get()
  await reply()

  expect(await got).toBe('old')
  expect([sent.length, events.onError.mock.calls]).toEqual([1, []])
})

test('what is purged while a lookup for it runs in the background is not validated, and does not come back', async () => {
  const { store, sent, get, reply } = openTier()
  const fields = ['Cache-Control', 'max-age=60, stale-while-revalidate=60', 'ETag', '"a"']
  const got = get()
  await reply()
  await sent[0]?.respond(createResponse(fields, 'old'))
  await got
  await vi.advanceTimersByTimeAsync(61_000)
  const stale = await get()

  store.purge({ operation: null, client: null })
  await reply()
  await vi.advanceTimersByTimeAsync(25)
  await sent[1]?.respond(createResponse(fields, '', 304))

  expect([stale, sent.length, store.size]).toEqual(['old', 1, 0])
})

describe('a lookup that is late brings back nothing that the upstream has taken back', () => {
  const noStore = ['Cache-Control', 'no-store']

  test.each(['before', 'after'] as const)('where it replies %s the upstream', async (when) => {
    const { sent, get, reply } = await openWithEntry()
    const got = get()
    await vi.advanceTimersByTimeAsync(25)

    if (when === 'before') await reply()
    await sent[1]?.respond(createResponse(noStore, 'new'))
    const first = await got
    await reply()
    const next = get()
    await sent[2]?.respond(createResponse(noStore, 'newer'))

    expect([first, await next]).toEqual(['new', 'newer'])
  })

  test('nor does one that was begun later, and waits for the same reply', async () => {
    const { sent, get, reply } = await openWithEntry()
    const got = [get()]
    await vi.advanceTimersByTimeAsync(25)
    got.push(get())

    await sent[1]?.respond(createResponse(noStore, 'new'))
    await reply()
    await sent[2]?.respond(createResponse(noStore, 'newer'))

    expect(await Promise.all(got)).toEqual(['new', 'newer'])
  })

  test('nor where it was taken back for a request that did not ask Redis', async () => {
    const { store, link, sent, get, reply } = await openWithEntry()
    void get()
    await vi.advanceTimersByTimeAsync(25)
    link.isShared = false
    const other = get('Cache-Control', 'no-cache')

    await sent[2]?.respond(createResponse(noStore, 'new'))
    await reply()

    expect([await other, store.size]).toEqual(['new', 0])
  })
})

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

/** Opens a store in a Redis that a test silences; its time-out is 20 ms. */
const openStore = async () => {
  const redis = { isSilent: false, ran: 0 }
  const run: RedisConnection['run'] = () => {
    redis.ran++
    return redis.isSilent ? new Promise(() => {}) : new Promise((resolve) => setTimeout(resolve, 5, 1))
  }
  const connection = { run, consume: async () => 1, probe: async () => true as const, destroy: () => {} }
  const link = new ManagedRedis({ connect: async () => connection, timeoutMs: 20, onChange: () => {} })
  onTestFinished(() => link.close())
  await pass(0)
  return { redis, store: createRedisCacheStore(link, { prefix: 'test', isCluster: false }) }
}

/** Ends a generation while a request waits, and notes what came of it. */
const endInTime = (store: RedisCacheStore) => {
  const renewed = store.renewGenerationsInTime(['key'])
  const outcome: { isRenewed: boolean | 'pending' | null } = { isRenewed: renewed && 'pending' }
  renewed?.then((isRenewed) => Object.assign(outcome, { isRenewed }))
  return outcome
}

test.each([
  ['until Redis knows that a generation has ended', false, 4, true],
  ['for a silent Redis as long as for a lookup, and no longer', true, 19, false],
])('a request waits %s', async (_, isSilent, waitedMs, isRenewed) => {
  const { redis, store } = await openStore()
  redis.isSilent = isSilent
  const outcome = endInTime(store)

  await pass(waitedMs)
  expect(outcome.isRenewed).toBe('pending')
  await pass(2) // a timer never fires early
  expect(outcome.isRenewed).toBe(isRenewed)
})

test('five such waits in a row, and none waits any more', async () => {
  const { redis, store } = await openStore()
  redis.isSilent = true
  for (let n = 0; n < 5; n++) {
    endInTime(store)
    await pass(21)
  }
  const ranBefore = redis.ran

  expect([endInTime(store).isRenewed, redis.ran]).toEqual([null, ranBefore])
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

  expect([ran, store.counts.dropped]).toEqual([['store first', 'remove removed', 'store last'], 0])
})
