import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { MinRateMonitor } from '../../../src/downstream/body/min-rate.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** Makes a pace of 100 bytes a second, and whoever moves along at it. */
const begin = (unseenBytes = 0, unsure = 0) => {
  const pace = new MinRateMonitor(100, unseenBytes)
  const other = { moved: 0, cut: 0 }
  const wait = (): void =>
    pace.wait(
      other,
      () => other.moved,
      unsure,
      () => other.cut++,
    )
  /** Waits, has so much moved at the end of it, and is done with waiting. */
  const move = (ms: number, bytes: number): void => {
    wait()
    vi.advanceTimersByTime(ms)
    other.moved += bytes
    pace.stop(other)
  }
  return { pace, other, wait, move }
}

test('who moves nothing is cut after ten seconds of waiting, once', () => {
  const { other, wait } = begin()

  wait()
  vi.advanceTimersByTime(9_999)
  const before = other.cut
  vi.advanceTimersByTime(60_000)

  expect([before, other.cut]).toEqual([0, 1])
  expect(vi.getTimerCount()).toBe(0)
})

test('who moves a byte a second is cut as well', () => {
  const { other, move } = begin()

  for (let i = 0; i < 11; i++) move(1000, 1)

  expect(other.cut).toBe(1)
})

test('who keeps up the rate is not, however long it takes', () => {
  const { other, move } = begin()

  for (let i = 0; i < 1000; i++) move(1000, 100)

  expect(other.cut).toBe(0)
})

test('a burst pays for the ten seconds that it falls in, and for no more', () => {
  const { other, move } = begin()

  move(9000, 1_000_000)
  for (let i = 0; i < 11; i++) move(1000, 100)
  const after = other.cut
  for (let i = 0; i < 11; i++) move(1000, 99)

  expect([after, other.cut]).toEqual([0, 1])
})

test('time in which nobody waits counts for nothing', () => {
  const { other, wait, move } = begin()

  for (let i = 0; i < 9; i++) {
    move(1000, 0)
    vi.advanceTimersByTime(3_600_000)
  }
  wait()
  const before = other.cut
  vi.advanceTimersByTime(10_000)

  expect([before, other.cut]).toEqual([0, 1])
})

test('what moves unseen in the middle of a wait is granted, but not for ever', () => {
  const { other, wait } = begin(5000)

  wait()
  vi.advanceTimersByTime(50_000)
  const before = other.cut
  vi.advanceTimersByTime(10_000)

  expect([before, other.cut]).toEqual([0, 1])
})

test('a count that is unsure is granted what it may be wrong by', () => {
  const { other, move } = begin(0, 500)

  for (let i = 0; i < 19; i++) move(1000, 75)
  const before = other.cut
  for (let i = 0; i < 3; i++) move(1000, 75)

  expect([before, other.cut]).toEqual([0, 1])
})

test('an answer that follows at once is waited for where the one before left off', () => {
  const { pace } = begin()
  const [first, second] = [{ cut: 0 }, { cut: 0 }]
  const waitFor = (who: { cut: number }): void =>
    pace.wait(
      who,
      () => 0,
      0,
      () => who.cut++,
    )

  waitFor(first)
  vi.advanceTimersByTime(6000)
  waitFor(second)
  pace.stop(first)
  vi.advanceTimersByTime(10_000)

  expect([first.cut, second.cut]).toEqual([0, 1])
})
