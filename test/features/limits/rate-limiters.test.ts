import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isAllowed, msUntilNextToken, remainingTokens } from '../../../src/core/lib/token-bucket.ts'
import { localShareLimiter, memoryLimiter, remoteLimiter } from '../../../src/features/limits/rate-limiters.ts'

afterEach(() => void vi.useRealTimers())

describe('in memory', () => {
  const limit = { policy: 'address', perMs: 1 / 1000, burst: 3 }

  beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))

  test('each key has a bucket of its own', () => {
    const limiter = memoryLimiter(limit)

    const outcomes = ['a', 'a', 'a', 'b', 'a'].map((key) => isAllowed(limiter.consume(key)))
    expect(outcomes).toEqual([true, true, true, true, false])
    vi.advanceTimersByTime(1000)
    expect(['a', 'a'].map((key) => isAllowed(limiter.consume(key)))).toEqual([true, false])
  })

  test('what has drained is forgotten as others come, and that is no eviction', () => {
    const limiter = memoryLimiter(limit)
    for (let n = 0; n < 100; n++) limiter.consume(`early ${n}`)
    vi.advanceTimersByTime(1000)

    for (let n = 0; n < 100; n++) limiter.consume(`late ${n}`)

    expect(limiter.size()).toBe(100)
    expect(limiter.counts.evictions).toBe(0)
  })

  test('any number of addresses takes a bounded number of keys, and does not push out one that is busy', () => {
    const limiter = memoryLimiter(limit, 1000)
    for (let n = 0; n < 3; n++) limiter.consume('busy')
    for (let n = 0; n < 20_000; n++) limiter.consume(`attacker ${n}`)

    expect(limiter.size()).toBe(1000)
    expect(limiter.counts.evictions).toBe(19_001)
    expect(isAllowed(limiter.consume('busy'))).toBe(false)
  })

  test('no request is rejected for want of room', () => {
    const limiter = memoryLimiter(limit, 10)
    for (let n = 0; n < 10; n++) for (let times = 0; times < 3; times++) limiter.consume(`busy ${n}`)

    expect(isAllowed(limiter.consume('new'))).toBe(true)
    expect(limiter.size()).toBe(10)
  })
})

describe('of several processes', () => {
  const limit = { policy: 'address', perMs: 10 / 1000, burst: 8 }

  test('the keys of one turn of the event loop go in one message', async () => {
    const batches: (readonly string[])[] = []
    const limiter = remoteLimiter(
      limit,
      async (keys) => {
        batches.push(keys)
        return keys.map((_, nth) => nth + 1)
      },
      20,
      localShareLimiter(2, limit),
    )

    expect(await Promise.all(['a', 'b', 'a'].map((key) => limiter.consume(key)))).toEqual([1, 2, 3])
    expect(await limiter.consume('c')).toBe(1)
    expect(batches).toEqual([['a', 'b', 'a'], ['c']])
  })

  test('a request without a reply in time is counted here, by the share of one process', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const limiter = remoteLimiter(limit, () => new Promise(() => {}), 20, localShareLimiter(2, limit))
    const outcomes = Promise.all(Array.from({ length: 5 }, () => limiter.consume('a')))
    await turn()

    vi.advanceTimersByTime(20)

    expect((await outcomes).map((each) => [isAllowed(each), remainingTokens(each, limit)])).toEqual([
      ...[6, 4, 2, 0].map((left) => [true, left]),
      [false, 0],
    ])
  })

  test('so is one that the primary cannot count', async () => {
    for (const callAll of [async () => null, () => Promise.reject(new Error('gone'))])
      expect(await remoteLimiter(limit, callAll, 20, localShareLimiter(2, limit)).consume('a')).toBe(2)
  })

  test.each([
    ['a share that is no whole number', 3, 2, 1],
    ['more processes than there are at once', 1, 4, 4],
  ])('the rejection of a share says when it has the next token: %s', (_, burst, processes, afterMinutes) => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const slow = { policy: 'address', perMs: 1 / 60_000, burst }
    const share = localShareLimiter(processes, slow)

    const [first, rejected] = [share.consume('a'), share.consume('a')] as const
    vi.advanceTimersByTime(afterMinutes * 60_000 - 1)
    const early = share.consume('a')
    vi.advanceTimersByTime(2)
    const next = share.consume('a')

    expect([first, rejected, early, next].map((each) => isAllowed(Number(each)))).toEqual([true, false, false, true])
    expect(msUntilNextToken(Number(rejected), slow)).toBeCloseTo(afterMinutes * 60_000)
    expect(remainingTokens(Number(rejected), slow)).toBe(0)
  })
})
