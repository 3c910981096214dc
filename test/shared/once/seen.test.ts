import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Seen } from '../../../src/shared/once/seen.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

test('a key comes for the first time once', () => {
  const seen = new Seen(1000)

  expect([seen.note('a'), seen.note('a'), seen.note('b'), seen.note('a')]).toEqual([1, -1, 1, -1])
})

// Whatever else comes in between decides when the generations turn.
test.each([0, 1, 250, 500, 999])('a key is remembered for all of a window, begun %d ms before', (before) => {
  const seen = new Seen(1000)
  seen.note('first')
  vi.advanceTimersByTime(before)

  const told = [seen.note('key')]
  for (let ms = 0; ms < 990; ms += 90) {
    vi.advanceTimersByTime(90)
    seen.note(`other ${ms}`)
    told.push(seen.note('key'))
  }

  expect(told).toEqual([1, ...new Array(11).fill(-1)])
})

test('after two windows a key is forgotten, and takes no room', () => {
  const seen = new Seen(1000, 1)
  expect(seen.note('a')).toBe(1)

  vi.advanceTimersByTime(2000)

  expect([seen.note('a'), seen.note('a')]).toEqual([1, -1])
})

test('where there is no room nobody can tell, and nothing is forgotten', () => {
  const seen = new Seen(1000, 2)
  seen.note('a')
  seen.note('b')

  expect([seen.note('c'), seen.note('c'), seen.note('a'), seen.note('b')]).toEqual([0, 0, -1, -1])
})

test('a longer window holds for what has come before', () => {
  const seen = new Seen(1000)
  seen.note('a')
  seen.widen(5000)
  seen.widen(10)

  vi.advanceTimersByTime(4999)

  expect(seen.note('a')).toBe(-1)
})
