import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { isAllowed, msUntilNextToken, remainingTokens } from '../../../../src/core/lib/token-bucket.ts'
import { localShareLimiter, remoteLimiter } from '../../../../src/features/limits/rate-limiters.ts'

const limit = { policy: 'address', perMs: 10 / 1000, burst: 8 }

afterEach(() => {
  vi.useRealTimers()
})

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

  const results = await outcomes
  expect(results.map(isAllowed)).toEqual([true, true, true, true, false])
  expect(results.map((outcome) => remainingTokens(outcome, limit))).toEqual([6, 4, 2, 0, 0])
})

test('so is one that the primary cannot count', async () => {
  for (const callAll of [async () => null, () => Promise.reject(new Error('gone'))]) {
    const limiter = remoteLimiter(limit, callAll, 20, localShareLimiter(2, limit))

    expect(await limiter.consume('a')).toBe(2)
  }
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
