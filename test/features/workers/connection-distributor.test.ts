import type { Socket } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  type ConnectionReceiver,
  createConnectionDistributor,
} from '../../../src/features/workers/connection-distributor.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** A worker that records its connections, here numbers. */
type Receiver = ConnectionReceiver & { readonly handedOff: unknown[]; ending: boolean; timeouts: number }

const createReceiver = (): Receiver => ({
  handedOff: [],
  ending: false,
  timeouts: 0,
  onTimeout() {
    this.timeouts++
  },
  handOff(socket) {
    if (this.ending) return false
    this.handedOff.push(socket)
    return true
  },
})

const createDistributor = (count: number) => {
  const distributor = createConnectionDistributor(1000)
  const receivers = Array.from({ length: count }, createReceiver)
  for (const receiver of receivers) distributor.add(receiver)
  const distribute = (from: number, to: number): void => {
    for (let n = from; n <= to; n++) distributor.distribute(n as unknown as Socket)
  }
  const [a = createReceiver(), b = createReceiver(), c = createReceiver()] = receivers
  return { distributor, distribute, a, b, c }
}

test('connections go round, however soon each is acknowledged', () => {
  const { distributor, distribute, a, b } = createDistributor(2)

  distribute(1, 6)
  for (let n = 0; n < 3; n++) distributor.onAck(a)
  for (let n = 0; n < 3; n++) distributor.onAck(b)

  expect([a.handedOff, b.handedOff]).toEqual([
    [1, 3, 5],
    [2, 4, 6],
  ])
})

test('each is handed one at a time', () => {
  const { distributor, distribute, a, b } = createDistributor(2)

  distribute(1, 4)
  const before = [...a.handedOff, ...b.handedOff]
  distributor.onAck(b)

  expect(before).toEqual([1, 2])
  expect(b.handedOff).toEqual([2, 4])
})

test('a receiver that acknowledges nothing for a second is passed over, and what waited for it goes to the others', () => {
  const { distributor, distribute, a, b } = createDistributor(2)
  distribute(1, 4)
  distributor.onAck(b)
  distributor.onAck(b)

  vi.advanceTimersByTime(1000)
  const rescued = [...b.handedOff]
  distributor.onAck(b)
  distribute(5, 5)

  expect(distributor.hasReceiver()).toBe(true)
  expect([a.timeouts, b.timeouts]).toEqual([1, 0])
  expect([a.handedOff, rescued, b.handedOff]).toEqual([[1], [2, 4, 3], [2, 4, 3, 5]])
})

test('a receiver that acknowledges again is handed connections again', () => {
  const { distributor, distribute, a, b } = createDistributor(2)
  distribute(1, 1)
  vi.advanceTimersByTime(1000)

  distributor.onAck(a)
  distribute(2, 3)

  expect([a.handedOff, b.handedOff]).toEqual([[1, 3], [2]])
})

test('connections wait while no receiver is there, in their order', () => {
  const { distributor, distribute } = createDistributor(0)
  distribute(1, 3)
  const before = [distributor.hasReceiver(), distributor.isIdle()]

  const late = createReceiver()
  distributor.add(late)
  distributor.onAck(late)
  distributor.onAck(late)

  expect(before).toEqual([false, false])
  expect(late.handedOff).toEqual([1, 2, 3])
  expect([distributor.hasReceiver(), distributor.isIdle()]).toEqual([true, true])
})

test('when all hang, no receiver is left', () => {
  const { distributor, distribute } = createDistributor(2)

  distribute(1, 5)
  vi.advanceTimersByTime(1000)

  expect([distributor.hasReceiver(), distributor.isIdle()]).toEqual([false, false])
})

test('what waited for a receiver that ends goes to the others, what it could not be handed as well', () => {
  const { distributor, distribute, a, b } = createDistributor(2)
  distribute(1, 3)
  a.ending = true
  distributor.onAck(a)

  distributor.remove(a)
  distributor.onAck(b)
  distributor.onAck(a) // sent before it ended

  expect([a.handedOff, b.handedOff]).toEqual([[1], [2, 3]])
})

test('no receiver is passed over for long because another acknowledges more: a burst goes round evenly', () => {
  const { distributor, distribute, a, b, c } = createDistributor(3)
  distribute(1, 180)

  for (let n = 0; n < 60; n++) for (const receiver of [a, a, a, b, c]) distributor.onAck(receiver)

  expect([a.handedOff.length, b.handedOff.length, c.handedOff.length]).toEqual([60, 60, 60])
})
