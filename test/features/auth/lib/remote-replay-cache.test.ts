import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  createReplayWindow,
  redisReplayCache,
  remoteReplayCache,
  replayReplyTimeoutMs,
} from '../../../../src/features/auth/tokens/replay-cache.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const options = { prefix: 'test:dpop:', windowMs: 1000 }

/** A connection whose result is always the same. */
const link = (isShared: boolean, outcome: number | null) => ({ isShared, consume: vi.fn(async () => outcome) })

test('a key that the primary has seen is used for all workers', async () => {
  const replayWindow = createReplayWindow(1000)
  const workers = [1, 2].map(() =>
    remoteReplayCache(async (uses) => uses.map((use) => replayWindow.record(...use)), 20),
  )

  const results = Promise.all(workers.map((worker) => worker.record('a', 'bank-a')))
  await vi.runAllTimersAsync()

  expect((await results).toSorted()).toEqual([-1, 1])
})

test.each([
  ['does not know', async () => null],
  ['is gone', () => Promise.reject(new Error('gone'))],
  ['says nothing', () => new Promise<never>(() => {})],
])('a primary that %s leaves the result unknown', async (_, callAll) => {
  const results = remoteReplayCache(callAll, 20).record('a', 'bank-a')
  await vi.runAllTimersAsync()

  expect(await results).toBe(0)
})

test('a key that is new here is recorded in Redis, as a bucket of one for a window', async () => {
  const redis = link(true, 1)
  const cache = redisReplayCache({ ...options, link: redis, whenUnavailable: 'refuse' }, createReplayWindow(1000))

  expect([await cache.record('a', 'bank-a'), await cache.record('a', 'bank-a')]).toEqual([1, -1])
  expect(redis.consume.mock.calls).toEqual([['test:dpop:a', 0.001, 1, replayReplyTimeoutMs]])
})

test('a key that another gateway has seen is used', async () => {
  const cache = redisReplayCache(
    { ...options, link: link(true, -0.5), whenUnavailable: 'serve' },
    createReplayWindow(1000),
  )

  expect(await cache.record('a', 'bank-a')).toBe(-0.5)
})

// Recorded twice: what this gateway has seen itself is not forgotten with Redis.
test.each([
  ['refuse', 'is down', link(false, null), [0, -1]],
  ['refuse', 'is late', link(true, null), [0, -1]],
  ['serve', 'is down', link(false, null), [1, -1]],
  ['serve', 'is late', link(true, null), [1, -1]],
] as const)('%s, when Redis %s', async (whenUnavailable, _, redis, expected) => {
  const cache = redisReplayCache(
    { ...options, link: redis, whenUnavailable: whenUnavailable },
    createReplayWindow(1000),
  )

  expect([await cache.record('a', 'bank-a'), await cache.record('a', 'bank-a')]).toEqual(expected)
})

test('the primary gets the owner beside a key, and it is the same key whichever owner it has', async () => {
  const replayWindow = createReplayWindow(1000, 4)
  const worker = remoteReplayCache(async (uses) => uses.map((use) => replayWindow.record(...use)), 20)

  const results = Promise.all([
    ...['a', 'b', 'c'].map((key) => worker.record(key, 'bank-a')),
    ...['d', 'a'].map((key) => worker.record(key, 'bank-b')),
  ])
  await vi.runAllTimersAsync()

  expect(await results).toEqual([1, 1, 0, 1, -1])
})
