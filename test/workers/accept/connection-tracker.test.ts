import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { ConnectionTracker } from '../../../src/workers/accept/connection-tracker.ts'
import { testConfig } from '../../helpers/gateway.ts'

const worker = {}
const other = {}

const guestsOf = (most: number): ConnectionTracker<object> => {
  const guests = new ConnectionTracker()
  guests.applyConfig(testConfig({ listen: { maxConnectionsPerAddress: most } }).listen)
  return guests
}

const from = (): Socket => new EventEmitter() as Socket
const address = '10.0.0.1'

test('a connection counts until its worker says that it has ended, and not only while it waits', () => {
  const guests = guestsOf(1)
  const socket = from()

  const first = guests.acquire(socket, address)
  const counted = guests.assign(worker, socket)
  socket.emit('close') // the primary's own end of it
  const second = guests.acquire(from(), address)
  guests.release(other, ['10.0.0.1']) // never had it
  const third = guests.acquire(from(), address)
  guests.release(worker, ['10.0.0.1'])
  const fourth = guests.acquire(from(), address)

  expect([first, counted, second, third, fourth]).toEqual([true, '10.0.0.1', false, false, true])
})

test('what ends while it waits counts no longer', () => {
  const guests = guestsOf(1)
  const socket = from()

  guests.acquire(socket, address)
  socket.emit('close')

  expect(guests.acquire(from(), address)).toBe(true)
})

test('what could not be handed over counts once, with whoever has it next', () => {
  const guests = guestsOf(1)
  const socket = from()
  guests.acquire(socket, address)

  guests.unassign(worker, socket, guests.assign(worker, socket))
  guests.releaseAll(worker)
  const meanwhile = guests.acquire(from(), address)
  guests.assign(other, socket)
  guests.releaseAll(other)
  guests.releaseAll(other)

  expect([meanwhile, guests.acquire(from(), address), guests.acquire(from(), address)]).toEqual([false, true, false])
})
