import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { MinRateMonitor } from '../../../../src/core/downstream/body/min-rate.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A monitor of 100 bytes a second, and the other side. */
const start = (unreportedBytes = 0, toleranceBytes = 0) => {
  const monitor = new MinRateMonitor(100, unreportedBytes)
  const other = { moved: 0, cut: 0 }
  const onCut = () => other.cut++
  const wait = (): void => monitor.wait(other, () => other.moved, toleranceBytes, onCut)
  /** Ends a wait of `ms`, in which `bytes` have moved. */
  const move = (ms: number, bytes: number): void => {
    wait()
    vi.advanceTimersByTime(ms)
    other.moved += bytes
    monitor.stop(other)
  }
  return { monitor, other, wait, move }
}

test('a side that moves nothing is cut after ten seconds of waiting, once', () => {
  const { other, wait } = start()

  wait()
  vi.advanceTimersByTime(9_999)
  const before = other.cut
  vi.advanceTimersByTime(60_000)

  expect([before, other.cut]).toEqual([0, 1])
  expect(vi.getTimerCount()).toBe(0)
})

test.each([
  ['moves a byte a second is cut as well', 11, 1, 1],
  ['keeps up the rate is not cut, however long it takes', 1000, 100, 0],
])('a side that %s', (_, times, bytes, cuts) => {
  const { other, move } = start()

  for (let i = 0; i < times; i++) move(1000, bytes)

  expect(other.cut).toBe(cuts)
})

test('a burst pays for the ten seconds in which it falls, and for no later time', () => {
  const { other, move } = start()

  move(9000, 1_000_000)
  for (let i = 0; i < 11; i++) move(1000, 100)
  const after = other.cut
  for (let i = 0; i < 11; i++) move(1000, 99)

  expect([after, other.cut]).toEqual([0, 1])
})

test('time without a wait does not count', () => {
  const { other, wait, move } = start()

  for (let i = 0; i < 9; i++) {
    move(1000, 0)
    vi.advanceTimersByTime(3_600_000)
  }
  wait()
  const before = other.cut
  vi.advanceTimersByTime(10_000)

  expect([before, other.cut]).toEqual([0, 1])
})

test('bytes that move unreported within a wait are granted, but not without limit', () => {
  const { other, wait } = start(5000)

  wait()
  vi.advanceTimersByTime(50_000)
  const before = other.cut
  vi.advanceTimersByTime(10_000)

  expect([before, other.cut]).toEqual([0, 1])
})

test('an inexact count is granted its tolerance', () => {
  const { other, move } = start(0, 500)

  for (let i = 0; i < 19; i++) move(1000, 75)
  const before = other.cut
  for (let i = 0; i < 3; i++) move(1000, 75)

  expect([before, other.cut]).toEqual([0, 1])
})

test('a response that follows at once continues the wait of the previous response', () => {
  const { monitor } = start()
  const [first, second] = [{ cut: 0 }, { cut: 0 }]
  const waitFor = (waiter: { cut: number }): void => {
    const onCut = () => waiter.cut++
    monitor.wait(waiter, () => 0, 0, onCut)
  }

  waitFor(first)
  vi.advanceTimersByTime(6000)
  waitFor(second)
  monitor.stop(first)
  vi.advanceTimersByTime(10_000)

  expect([first.cut, second.cut]).toEqual([0, 1])
})
