import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  decodeUse,
  ReplayWindow,
  redisReplayCache,
  remoteReplayCache,
  replayReplyTimeoutMs,
} from '../../src/shared/replay-cache.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const together = { prefix: 'test:dpop:', windowMs: 1000 }

/** Is a link whose answer is always the same. */
const link = (isShared: boolean, outcome: number | null) => ({ isShared, consume: vi.fn(async () => outcome) })

test('what the primary has seen, it has seen for all', async () => {
  const seen = new ReplayWindow(1000)
  const workers = [1, 2].map(() =>
    remoteReplayCache(async (keys) => keys.map((key) => seen.record(...decodeUse(key))), 20),
  )

  const told = Promise.all(workers.map((worker) => worker.record('a', 'bank-a')))
  await vi.runAllTimersAsync()

  expect((await told).toSorted()).toEqual([-1, 1])
})

test.each([
  ['does not know', async () => null],
  ['is gone', () => Promise.reject(new Error('gone'))],
  ['says nothing', () => new Promise<never>(() => {})],
])('a primary that %s leaves nobody who can tell', async (_, ask) => {
  const told = remoteReplayCache(ask, 20).record('a', 'bank-a')
  await vi.runAllTimersAsync()

  expect(await told).toBe(0)
})

test('what is new here is asked for in Redis, as a bucket of one for a window', async () => {
  const redis = link(true, 1)
  const once = redisReplayCache({ ...together, link: redis, whenUnavailable: 'refuse' }, new ReplayWindow(1000))

  expect([await once.record('a', 'bank-a'), await once.record('a', 'bank-a')]).toEqual([1, -1])
  expect(redis.consume.mock.calls).toEqual([['test:dpop:a', 0.001, 1, replayReplyTimeoutMs]])
})

test('what another gateway has seen has been seen', async () => {
  const once = redisReplayCache(
    { ...together, link: link(true, -0.5), whenUnavailable: 'serve' },
    new ReplayWindow(1000),
  )

  expect(await once.record('a', 'bank-a')).toBe(-0.5)
})

// Told twice: what this gateway has seen itself is not forgotten with Redis.
test.each([
  ['refuse', 'is down', link(false, null), [0, -1]],
  ['refuse', 'is late', link(true, null), [0, -1]],
  ['serve', 'is down', link(false, null), [1, -1]],
  ['serve', 'is late', link(true, null), [1, -1]],
] as const)('%s, when Redis %s', async (otherwise, _, redis, wanted) => {
  const once = redisReplayCache({ ...together, link: redis, whenUnavailable: otherwise }, new ReplayWindow(1000))

  expect([await once.record('a', 'bank-a'), await once.record('a', 'bank-a')]).toEqual(wanted)
})

test('whose a key is, the primary is told beside it, and it is the same key whosever it is', async () => {
  const seen = new ReplayWindow(1000, 4)
  const worker = remoteReplayCache(async (keys) => keys.map((key) => seen.record(...decodeUse(key))), 20)

  const told = Promise.all([
    ...['a', 'b', 'c'].map((key) => worker.record(key, 'bank-a')),
    ...['d', 'a'].map((key) => worker.record(key, 'bank-b')),
  ])
  await vi.runAllTimersAsync()

  expect(await told).toEqual([1, 1, 0, 1, -1])
})
