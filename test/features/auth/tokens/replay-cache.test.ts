import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import {
  createReplayCaches,
  createReplayWindow,
  redisReplayCache,
  remoteReplayCache,
  replayReplyTimeoutMs,
} from '../../../../src/features/auth/tokens/replay-cache.ts'
import { RedisRegistry } from '../../../../src/features/redis/redis-registry.ts'

describe('in memory,', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  test('a key comes for the first time once', () => {
    const { record } = createReplayWindow(1000)

    expect(['a', 'a', 'b', 'a'].map((key) => record(key, 'bank-a'))).toEqual([1, -1, 1, -1])
  })

  // What else comes in between decides when the window rotates.
  test.each([0, 1, 250, 500, 999])('a key is remembered for all of a window, begun %d ms before', (before) => {
    const { record } = createReplayWindow(1000)
    record('first', 'bank-a')
    vi.advanceTimersByTime(before)

    const results = [record('key', 'bank-a')]
    for (let ms = 0; ms < 990; ms += 90) {
      vi.advanceTimersByTime(90)
      record(`other ${ms}`, 'bank-a')
      results.push(record('key', 'bank-a'))
    }

    expect(results).toEqual([1, ...new Array(11).fill(-1)])
  })

  test('after two windows a key is forgotten, and takes no room', () => {
    const { record } = createReplayWindow(1000, 1)
    expect(record('a', 'bank-a')).toBe(1)

    vi.advanceTimersByTime(2000)

    expect([record('a', 'bank-a'), record('a', 'bank-a')]).toEqual([1, -1])
  })

  test('where there is no room the result is unknown, and nothing is forgotten', () => {
    const { record } = createReplayWindow(1000, 2)
    record('a', 'bank-a')
    record('b', 'bank-b')

    expect(['c', 'c', 'a', 'b'].map((key) => record(key, 'bank-c'))).toEqual([0, 0, -1, -1])
  })

  test('owners that use all the room that they can leave room for another one', () => {
    const { record } = createReplayWindow(1000, 12)
    const fill = (owner: string, nth: number): number =>
      Array.from({ length: 20 }, (_, n) => record(`${nth} ${n}`, owner)).filter((result) => result > 0).length

    expect(['bank-a', 'bank-b', 'bank-a'].map(fill)).toEqual([6, 3, 0])
    expect(record('one', 'bank-z')).toBe(1)
  })

  test('an owner that has used its room has it again in the next window', () => {
    const { record } = createReplayWindow(1000, 4)
    const recordThree = (window: number) => ['a', 'b', 'c'].map((key) => record(`${window} ${key}`, 'bank-a'))

    expect(recordThree(1)).toEqual([1, 1, 0])
    vi.advanceTimersByTime(1000)
    expect(recordThree(2)).toEqual([1, 1, 0])
  })

  test('a longer window holds for what has come before', () => {
    const replayWindow = createReplayWindow(1000)
    replayWindow.record('a', 'bank-a')
    replayWindow.widen(5000)
    replayWindow.widen(10)

    vi.advanceTimersByTime(4999)

    expect(replayWindow.record('a', 'bank-a')).toBe(-1)
  })

  describe('when the wall clock is set back, so that a proof that was forgotten is young enough again', () => {
    const [start, hour] = [1_800_000_000_000, 3_600_000]

    let record: ReturnType<typeof createReplayWindow>['record']
    // A proof made at `start` is used, and forgotten.
    beforeEach(() => {
      record = createReplayWindow(1000).record
      record('used', 'bank-a', start)
      for (let ms = 0; ms < 3000; ms += 500) {
        vi.advanceTimersByTime(500)
        record(`other ${ms}`, 'bank-a', start + ms)
      }
    })

    test('it does not count as new (RFC 9449 §11.1); a proof of a time of which none was forgotten does', () => {
      expect(record('used', 'bank-a', start)).toBe(0)
      expect(record('now', 'bank-a', start + 3000)).toBe(1)
      expect(record('back', 'bank-a', start - 2 * hour)).toBe(1)
      expect(record('forth', 'bank-a', start + 2 * hour)).toBe(1)
    })

    test('what came while the clock was ahead says nothing of the time between', () => {
      record('ahead', 'bank-a', start + 2 * hour)
      vi.advanceTimersByTime(2000)

      expect(['ahead', 'used'].map((key, i) => record(key, 'bank-a', start + i))).not.toContain(1)
      expect(record('ahead', 'bank-a', start + 2 * hour)).toBe(0)
      expect(record('between', 'bank-a', start + hour)).toBe(1)
    })

    test('however often it is set, few times are kept, and no forgotten one is lost', () => {
      const own = createReplayWindow(1000)
      const times = Array.from({ length: 50 }, (_, n) => start + ((n * 37) % 50) * hour)
      for (const time of times) {
        own.record(`key ${time}`, 'bank-a', time)
        vi.advanceTimersByTime(2000)
      }

      expect(times.map((time) => own.record(`key ${time}`, 'bank-a', time))).toEqual(times.map(() => 0))
      expect(own.record('later', 'bank-a', start + 50 * hour)).toBe(1)
    })
  })
})

test.each([
  ['alone', [1, -1]],
  ['worker', null],
] as const)('for another process the keys are recorded where they are kept: %s', (kind, expected) => {
  const caches = createReplayCaches({ kind, askPrimary: async () => null }, new RedisRegistry(() => {}))
  const uses = [['a', 'bank-a'] as const, ['a', 'bank-a'] as const]

  expect(caches.recordAll(uses)).toBeNull()
  const { release } = caches.acquire({ windowMs: 1000, whenUnavailable: 'reject' }, null)
  onTestFinished(release)
  expect(caches.recordAll(uses)).toEqual(expected)
})

describe('beyond this process,', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'performance'] }))
  afterEach(() => void vi.useRealTimers())

  /** Workers of a primary, whose window it is. */
  const workersOf = (count: number, room?: number) => {
    const { record } = createReplayWindow(1000, room)
    return Array.from({ length: count }, () => remoteReplayCache(async (uses) => uses.map((use) => record(...use)), 20))
  }

  test('a key that the primary has seen is used for all workers', async () => {
    const results = Promise.all(workersOf(2).map((worker) => worker.record('a', 'bank-a')))
    await vi.runAllTimersAsync()

    expect((await results).toSorted()).toEqual([-1, 1])
  })

  test('the primary gets the owner beside a key, and it is the same key whichever owner it has', async () => {
    const [worker] = workersOf(1, 4)

    const results = Promise.all([
      ...['a', 'b', 'c'].map((key) => worker?.record(key, 'bank-a')),
      ...['d', 'a'].map((key) => worker?.record(key, 'bank-b')),
    ])
    await vi.runAllTimersAsync()

    expect(await results).toEqual([1, 1, 0, 1, -1])
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

  // Recorded twice: what this gateway has seen itself is not forgotten with Redis.
  test.each<['reject' | 'serve', string, boolean, number | null, readonly number[]]>([
    ['reject', 'has not seen the key', true, 1, [1, -1]],
    ['serve', 'has seen it of another gateway', true, -0.5, [-0.5, -1]],
    ['reject', 'is down', false, null, [0, -1]],
    ['reject', 'is late', true, null, [0, -1]],
    ['serve', 'is down', false, null, [1, -1]],
    ['serve', 'is late', true, null, [1, -1]],
  ])('%s, when Redis %s', async (whenUnavailable, _, isShared, outcome, expected) => {
    const link = { isShared, consume: vi.fn(async () => outcome) }
    const options = { prefix: 'test:dpop:', windowMs: 1000, link, whenUnavailable }
    const cache = redisReplayCache(options, createReplayWindow(1000))

    expect([await cache.record('a', 'bank-a'), await cache.record('a', 'bank-a')]).toEqual(expected)
    // It is recorded there as a bucket of one for a window, for which `reject` waits longer.
    const timeoutMs = whenUnavailable === 'reject' ? replayReplyTimeoutMs : undefined
    expect(link.consume.mock.calls).toEqual(isShared ? [['test:dpop:a', 0.001, 1, timeoutMs]] : [])
  })
})
