import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { localShareLimiter, remoteLimiter } from '../../../src/shared/rate-limiter/rate-limiter-registry.ts'
import { isAllowed, msUntilNextToken, remainingTokens } from '../../../src/shared/rate-limiter/token-bucket.ts'

const limit = { policy: 'address', perMs: 10 / 1000, burst: 8 }

afterEach(() => {
  vi.useRealTimers()
})

test('what one turn of the event loop asks goes in one message', async () => {
  const asked: (readonly string[])[] = []
  const limiter = remoteLimiter(
    limit,
    async (keys) => {
      asked.push(keys)
      return keys.map((_, nth) => nth + 1)
    },
    20,
    localShareLimiter(2, limit),
  )

  expect(await Promise.all(['a', 'b', 'a'].map((key) => limiter.consume(key)))).toEqual([1, 2, 3])
  expect(await limiter.consume('c')).toBe(1)
  expect(asked).toEqual([['a', 'b', 'a'], ['c']])
})

test('whoever has no answer in time is counted here, by the share of one process', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const limiter = remoteLimiter(limit, () => new Promise(() => {}), 20, localShareLimiter(2, limit))
  const outcomes = Promise.all(Array.from({ length: 5 }, () => limiter.consume('a')))
  await turn()

  vi.advanceTimersByTime(20)

  const told = await outcomes
  expect(told.map(isAllowed)).toEqual([true, true, true, true, false])
  expect(told.map((outcome) => remainingTokens(outcome, limit))).toEqual([6, 4, 2, 0, 0])
})

test('so is one whose question nobody can answer', async () => {
  for (const answer of [async () => null, () => Promise.reject(new Error('gone'))]) {
    const limiter = remoteLimiter(limit, answer, 20, localShareLimiter(2, limit))

    expect(await limiter.consume('a')).toBe(2)
  }
})

test.each([
  ['a share that is no whole number', 3, 2, 1],
  ['more processes than there are at once', 1, 4, 4],
])('the refusal of a share says when that one has the next: %s', (_, burst, processes, afterMinutes) => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const slow = { policy: 'address', perMs: 1 / 60_000, burst }
  const share = localShareLimiter(processes, slow)

  const [first, refused] = [share.consume('a'), share.consume('a')] as const
  vi.advanceTimersByTime(afterMinutes * 60_000 - 1)
  const early = share.consume('a')
  vi.advanceTimersByTime(2)
  const next = share.consume('a')

  expect([first, refused, early, next].map((each) => isAllowed(Number(each)))).toEqual([true, false, false, true])
  expect(msUntilNextToken(Number(refused), slow)).toBeCloseTo(afterMinutes * 60_000)
  expect(remainingTokens(Number(refused), slow)).toBe(0)
})
