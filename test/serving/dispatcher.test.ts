import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Dispatcher, type Taker } from '../../src/serving/dispatcher.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.runAllTimers() // alarms that are left would never ring again
  vi.useRealTimers()
})

/** Is a worker that notes the connections that it is handed; the connections are numbers here. */
const noting = (): Taker & { readonly handed: unknown[]; going: boolean; doubts: number } => ({
  handed: [],
  going: false,
  doubts: 0,
  doubt() {
    this.doubts++
  },
  hand(socket) {
    if (this.going) return false
    this.handed.push(socket)
    return true
  },
})

const opened = (count: number) => {
  const dispatcher = new Dispatcher(1000)
  const takers = Array.from({ length: count }, noting)
  for (const taker of takers) dispatcher.add(taker)
  const deal = (from: number, to: number): void => {
    for (let n = from; n <= to; n++) dispatcher.deal(n as unknown as Socket)
  }
  const [a = noting(), b = noting(), c = noting()] = takers
  return { dispatcher, deal, a, b, c }
}

test('connections go round, however soon each is taken', () => {
  const { dispatcher, deal, a, b } = opened(2)

  deal(1, 6)
  for (let n = 0; n < 3; n++) dispatcher.taken(a)
  for (let n = 0; n < 3; n++) dispatcher.taken(b)

  expect([a.handed, b.handed]).toEqual([
    [1, 3, 5],
    [2, 4, 6],
  ])
})

test('each is handed one at a time', () => {
  const { dispatcher, deal, a, b } = opened(2)

  deal(1, 4)
  const before = [...a.handed, ...b.handed]
  dispatcher.taken(b)

  expect(before).toEqual([1, 2])
  expect(b.handed).toEqual([2, 4])
})

test('who takes nothing for a second is passed over, and what waited for him goes to the others', () => {
  const { dispatcher, deal, a, b } = opened(2)
  deal(1, 4)
  dispatcher.taken(b)
  dispatcher.taken(b)

  vi.advanceTimersByTime(1000)
  const rescued = [...b.handed]
  dispatcher.taken(b)
  deal(5, 5)

  expect(dispatcher.isServed).toBe(true)
  expect([a.doubts, b.doubts]).toEqual([1, 0])
  expect([a.handed, rescued, b.handed]).toEqual([[1], [2, 4, 3], [2, 4, 3, 5]])
})

test('who takes again is dealt to again', () => {
  const { dispatcher, deal, a, b } = opened(2)
  deal(1, 1)
  vi.advanceTimersByTime(1000)

  dispatcher.taken(a)
  deal(2, 3)

  expect([a.handed, b.handed]).toEqual([[1, 3], [2]])
})

test('connections wait while nobody can take them, in their order', () => {
  const { dispatcher, deal } = opened(0)
  deal(1, 3)
  const before = [dispatcher.isServed, dispatcher.isIdle]

  const late = noting()
  dispatcher.add(late)
  dispatcher.taken(late)
  dispatcher.taken(late)

  expect(before).toEqual([false, false])
  expect(late.handed).toEqual([1, 2, 3])
  expect([dispatcher.isServed, dispatcher.isIdle]).toEqual([true, true])
})

test('when all hang, nobody serves', () => {
  const { dispatcher, deal } = opened(2)

  deal(1, 5)
  vi.advanceTimersByTime(1000)

  expect([dispatcher.isServed, dispatcher.isIdle]).toEqual([false, false])
})

test('what was dealt to one that goes is dealt again, what it could not be handed as well', () => {
  const { dispatcher, deal, a, b } = opened(2)
  deal(1, 3)
  a.going = true
  dispatcher.taken(a)

  dispatcher.remove(a)
  dispatcher.taken(b)
  dispatcher.taken(a) // said before it went

  expect([a.handed, b.handed]).toEqual([[1], [2, 3]])
})

test('nobody is passed over for long because another has much to do: a burst goes round evenly', () => {
  const { dispatcher, deal, a, b, c } = opened(3)
  deal(1, 180)

  for (let n = 0; n < 60; n++) for (const taker of [a, a, a, b, c]) dispatcher.taken(taker)

  expect([a.handed.length, b.handed.length, c.handed.length]).toEqual([60, 60, 60])
})
