import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createReplayWindow,
  redisReplayCache,
  remoteReplayCache,
  replayReplyTimeoutMs,
} from '../../../../src/features/auth/tokens/replay-cache.ts'

describe('in memory,', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
  afterEach(() => void vi.useRealTimers())

  test('a key comes for the first time once', () => {
    const replayWindow = createReplayWindow(1000)

    expect([
      replayWindow.record('a', 'bank-a'),
      replayWindow.record('a', 'bank-a'),
      replayWindow.record('b', 'bank-a'),
      replayWindow.record('a', 'bank-a'),
    ]).toEqual([1, -1, 1, -1])
  })

  // What else comes in between decides when the window rotates.
  test.each([0, 1, 250, 500, 999])('a key is remembered for all of a window, begun %d ms before', (before) => {
    const replayWindow = createReplayWindow(1000)
    replayWindow.record('first', 'bank-a')
    vi.advanceTimersByTime(before)

    const results = [replayWindow.record('key', 'bank-a')]
    for (let ms = 0; ms < 990; ms += 90) {
      vi.advanceTimersByTime(90)
      replayWindow.record(`other ${ms}`, 'bank-a')
      results.push(replayWindow.record('key', 'bank-a'))
    }

    expect(results).toEqual([1, ...new Array(11).fill(-1)])
  })

  test('after two windows a key is forgotten, and takes no room', () => {
    const replayWindow = createReplayWindow(1000, 1)
    expect(replayWindow.record('a', 'bank-a')).toBe(1)

    vi.advanceTimersByTime(2000)

    expect([replayWindow.record('a', 'bank-a'), replayWindow.record('a', 'bank-a')]).toEqual([1, -1])
  })

  test('where there is no room the result is unknown, and nothing is forgotten', () => {
    const replayWindow = createReplayWindow(1000, 2)
    replayWindow.record('a', 'bank-a')
    replayWindow.record('b', 'bank-b')

    expect(['c', 'c', 'a', 'b'].map((key) => replayWindow.record(key, 'bank-c'))).toEqual([0, 0, -1, -1])
  })

  test.each([
    [['bank-a'], [6]],
    [
      ['bank-a', 'bank-b'],
      [6, 3],
    ],
    [
      ['bank-a', 'bank-b', 'bank-a'],
      [6, 3, 0],
    ],
  ])('%j, which use all the room that they can, leave room for another owner', (greedy, expected) => {
    const replayWindow = createReplayWindow(1000, 12)

    const taken = greedy.map(
      (owner, nth) =>
        Array.from({ length: 20 }, (_, n) => replayWindow.record(`${nth} ${n}`, owner)).filter((results) => results > 0)
          .length,
    )

    expect(taken).toEqual(expected)
    expect(replayWindow.record('one', 'bank-z')).toBe(1)
  })

  test('an owner that has used its room has it again in the next window', () => {
    const replayWindow = createReplayWindow(1000, 4)
    const recordThree = (window: number) =>
      ['a', 'b', 'c'].map((key) => replayWindow.record(`${window} ${key}`, 'bank-a'))

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

    /** Uses a proof made at `start`, and lets it be forgotten. */
    const afterForgetting = (): ReturnType<typeof createReplayWindow> => {
      const replayWindow = createReplayWindow(1000)
      replayWindow.record('used', 'bank-a', start)
      for (let ms = 0; ms < 3000; ms += 500) {
        vi.advanceTimersByTime(500)
        replayWindow.record(`other ${ms}`, 'bank-a', start + ms)
      }
      return replayWindow
    }

    test('it does not count as new (RFC 9449 §11.1)', () => {
      expect(afterForgetting().record('used', 'bank-a', start)).toBe(0)
    })

    test('a proof of a time of which none was forgotten does', () => {
      const replayWindow = afterForgetting()

      expect(replayWindow.record('now', 'bank-a', start + 3000)).toBe(1)
      expect(replayWindow.record('back', 'bank-a', start - 2 * hour)).toBe(1)
      expect(replayWindow.record('forth', 'bank-a', start + 2 * hour)).toBe(1)
    })

    test('what came while the clock was ahead says nothing of the time between', () => {
      const replayWindow = afterForgetting()
      replayWindow.record('ahead', 'bank-a', start + 2 * hour)
      vi.advanceTimersByTime(2000)

      expect(['ahead', 'used'].map((key, i) => replayWindow.record(key, 'bank-a', start + i))).not.toContain(1)
      expect(replayWindow.record('ahead', 'bank-a', start + 2 * hour)).toBe(0)
      expect(replayWindow.record('between', 'bank-a', start + hour)).toBe(1)
    })

    test('however often it is set, few times are kept, and no forgotten one is lost', () => {
      const replayWindow = createReplayWindow(1000)
      const times = Array.from({ length: 50 }, (_, n) => start + ((n * 37) % 50) * hour)
      for (const time of times) {
        replayWindow.record(`key ${time}`, 'bank-a', time)
        vi.advanceTimersByTime(2000)
      }

      expect(times.map((time) => replayWindow.record(`key ${time}`, 'bank-a', time))).toEqual(times.map(() => 0))
      expect(replayWindow.record('later', 'bank-a', start + 50 * hour)).toBe(1)
    })
  })
})

describe('beyond this process,', () => {
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
})
