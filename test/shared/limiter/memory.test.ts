import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isTaken } from '../../../src/shared/limiter/bucket.ts'
import { MemoryLimiter } from '../../../src/shared/limiter/memory.ts'

const limit = { policy: 'address', perMs: 1 / 1000, burst: 3 }

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

test('each key has a bucket of its own', () => {
  const limiter = new MemoryLimiter(limit)

  expect(['a', 'a', 'a', 'b', 'a'].map((key) => isTaken(limiter.take(key)))).toEqual([true, true, true, true, false])
  vi.advanceTimersByTime(1000)
  expect(['a', 'a'].map((key) => isTaken(limiter.take(key)))).toEqual([true, false])
})

test('what has drained is forgotten as others come, and that is no eviction', () => {
  const limiter = new MemoryLimiter(limit)
  for (let n = 0; n < 100; n++) limiter.take(`early ${n}`)
  vi.advanceTimersByTime(1000)

  for (let n = 0; n < 100; n++) limiter.take(`late ${n}`)

  expect(limiter.size).toBe(100)
  expect(limiter.evictions).toBe(0)
})

test('any number of addresses takes a bounded number of keys, and does not push out one that is busy', () => {
  const limiter = new MemoryLimiter(limit, 1000)
  for (let n = 0; n < 3; n++) limiter.take('busy')
  for (let n = 0; n < 20_000; n++) limiter.take(`attacker ${n}`)

  expect(limiter.size).toBe(1000)
  expect(limiter.evictions).toBe(19_001)
  expect(isTaken(limiter.take('busy'))).toBe(false)
})

test('nobody is refused for want of room', () => {
  const limiter = new MemoryLimiter(limit, 10)
  for (let n = 0; n < 10; n++) for (let times = 0; times < 3; times++) limiter.take(`busy ${n}`)

  expect(isTaken(limiter.take('new'))).toBe(true)
  expect(limiter.size).toBe(10)
})
