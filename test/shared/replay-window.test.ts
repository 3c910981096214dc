import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ReplayWindow } from '../../src/shared/replay-cache.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

test('a key comes for the first time once', () => {
  const seen = new ReplayWindow(1000)

  expect([
    seen.record('a', 'bank-a'),
    seen.record('a', 'bank-a'),
    seen.record('b', 'bank-a'),
    seen.record('a', 'bank-a'),
  ]).toEqual([1, -1, 1, -1])
})

// Whatever else comes in between decides when the generations turn.
test.each([0, 1, 250, 500, 999])('a key is remembered for all of a window, begun %d ms before', (before) => {
  const seen = new ReplayWindow(1000)
  seen.record('first', 'bank-a')
  vi.advanceTimersByTime(before)

  const told = [seen.record('key', 'bank-a')]
  for (let ms = 0; ms < 990; ms += 90) {
    vi.advanceTimersByTime(90)
    seen.record(`other ${ms}`, 'bank-a')
    told.push(seen.record('key', 'bank-a'))
  }

  expect(told).toEqual([1, ...new Array(11).fill(-1)])
})

test('after two windows a key is forgotten, and takes no room', () => {
  const seen = new ReplayWindow(1000, 1)
  expect(seen.record('a', 'bank-a')).toBe(1)

  vi.advanceTimersByTime(2000)

  expect([seen.record('a', 'bank-a'), seen.record('a', 'bank-a')]).toEqual([1, -1])
})

test('where there is no room nobody can tell, and nothing is forgotten', () => {
  const seen = new ReplayWindow(1000, 2)
  seen.record('a', 'bank-a')
  seen.record('b', 'bank-b')

  expect(['c', 'c', 'a', 'b'].map((key) => seen.record(key, 'bank-c'))).toEqual([0, 0, -1, -1])
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
])('%j, who bring all that they can, leave room for somebody else', (greedy, wanted) => {
  const seen = new ReplayWindow(1000, 12)

  const taken = greedy.map(
    (owner, nth) =>
      Array.from({ length: 20 }, (_, n) => seen.record(`${nth} ${n}`, owner)).filter((told) => told > 0).length,
  )

  expect(taken).toEqual(wanted)
  expect(seen.record('one', 'bank-z')).toBe(1)
})

test('who has taken his room has it again in the next window', () => {
  const seen = new ReplayWindow(1000, 4)
  const bring = (window: number) => ['a', 'b', 'c'].map((key) => seen.record(`${window} ${key}`, 'bank-a'))

  expect(bring(1)).toEqual([1, 1, 0])
  vi.advanceTimersByTime(1000)
  expect(bring(2)).toEqual([1, 1, 0])
})

test('a longer window holds for what has come before', () => {
  const seen = new ReplayWindow(1000)
  seen.record('a', 'bank-a')
  seen.widen(5000)
  seen.widen(10)

  vi.advanceTimersByTime(4999)

  expect(seen.record('a', 'bank-a')).toBe(-1)
})
