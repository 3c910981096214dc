import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isAllowed } from '../../../../src/core/lib/token-bucket.ts'
import { memoryLimiter } from '../../../../src/features/limits/rate-limiters.ts'

const limit = { policy: 'address', perMs: 1 / 1000, burst: 3 }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

test('each key has a bucket of its own', () => {
  const limiter = memoryLimiter(limit)

  expect(['a', 'a', 'a', 'b', 'a'].map((key) => isAllowed(limiter.consume(key)))).toEqual([
    true,
    true,
    true,
    true,
    false,
  ])
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
