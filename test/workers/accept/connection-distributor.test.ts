import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ConnectionDistributor, type ConnectionReceiver } from '../../../src/workers/accept/connection-distributor.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.runAllTimers() // alarms that are left would never ring again
  vi.useRealTimers()
})

/** Is a worker that notes the connections that it is handed; the connections are numbers here. */
const noting = (): ConnectionReceiver & { readonly handed: unknown[]; going: boolean; doubts: number } => ({
  handed: [],
  going: false,
  doubts: 0,
  onTimeout() {
    this.doubts++
  },
  handOff(socket) {
    if (this.going) return false
    this.handed.push(socket)
    return true
  },
})

const opened = (count: number) => {
  const dispatcher = new ConnectionDistributor(1000)
  const takers = Array.from({ length: count }, noting)
  for (const taker of takers) dispatcher.add(taker)
  const deal = (from: number, to: number): void => {
    for (let n = from; n <= to; n++) dispatcher.distribute(n as unknown as Socket)
  }
  const [a = noting(), b = noting(), c = noting()] = takers
  return { dispatcher, deal, a, b, c }
}

test('connections go round, however soon each is taken', () => {
  const { dispatcher, deal, a, b } = opened(2)

  deal(1, 6)
  for (let n = 0; n < 3; n++) dispatcher.onAck(a)
  for (let n = 0; n < 3; n++) dispatcher.onAck(b)

  expect([a.handed, b.handed]).toEqual([
    [1, 3, 5],
    [2, 4, 6],
  ])
})

test('each is handed one at a time', () => {
  const { dispatcher, deal, a, b } = opened(2)

  deal(1, 4)
  const before = [...a.handed, ...b.handed]
  dispatcher.onAck(b)

  expect(before).toEqual([1, 2])
  expect(b.handed).toEqual([2, 4])
})

test('who takes nothing for a second is passed over, and what waited for him goes to the others', () => {
  const { dispatcher, deal, a, b } = opened(2)
  deal(1, 4)
  dispatcher.onAck(b)
  dispatcher.onAck(b)

  vi.advanceTimersByTime(1000)
  const rescued = [...b.handed]
  dispatcher.onAck(b)
  deal(5, 5)

  expect(dispatcher.hasReceiver).toBe(true)
  expect([a.doubts, b.doubts]).toEqual([1, 0])
  expect([a.handed, rescued, b.handed]).toEqual([[1], [2, 4, 3], [2, 4, 3, 5]])
})

test('who takes again is dealt to again', () => {
  const { dispatcher, deal, a, b } = opened(2)
  deal(1, 1)
  vi.advanceTimersByTime(1000)

  dispatcher.onAck(a)
  deal(2, 3)

  expect([a.handed, b.handed]).toEqual([[1, 3], [2]])
})

test('connections wait while nobody can take them, in their order', () => {
  const { dispatcher, deal } = opened(0)
  deal(1, 3)
  const before = [dispatcher.hasReceiver, dispatcher.isIdle]

  const late = noting()
  dispatcher.add(late)
  dispatcher.onAck(late)
  dispatcher.onAck(late)

  expect(before).toEqual([false, false])
  expect(late.handed).toEqual([1, 2, 3])
  expect([dispatcher.hasReceiver, dispatcher.isIdle]).toEqual([true, true])
})

test('when all hang, nobody serves', () => {
  const { dispatcher, deal } = opened(2)

  deal(1, 5)
  vi.advanceTimersByTime(1000)

  expect([dispatcher.hasReceiver, dispatcher.isIdle]).toEqual([false, false])
})

test('what was dealt to one that goes is dealt again, what it could not be handed as well', () => {
  const { dispatcher, deal, a, b } = opened(2)
  deal(1, 3)
  a.going = true
  dispatcher.onAck(a)

  dispatcher.remove(a)
  dispatcher.onAck(b)
  dispatcher.onAck(a) // said before it went

  expect([a.handed, b.handed]).toEqual([[1], [2, 3]])
})

test('nobody is passed over for long because another has much to do: a burst goes round evenly', () => {
  const { dispatcher, deal, a, b, c } = opened(3)
  deal(1, 180)

  for (let n = 0; n < 60; n++) for (const taker of [a, a, a, b, c]) dispatcher.onAck(taker)

  expect([a.handed.length, b.handed.length, c.handed.length]).toEqual([60, 60, 60])
})
