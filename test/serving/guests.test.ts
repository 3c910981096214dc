import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Guests } from '../../src/serving/guests.ts'
import { testConfig } from '../helpers/gateway.ts'

const worker = {}
const other = {}

const guestsOf = (most: number): Guests<object> => {
  const guests = new Guests()
  guests.bound(testConfig({ listen: { maxConnectionsPerAddress: most } }).listen)
  return guests
}

const from = (): Socket => new EventEmitter() as Socket
const address = '10.0.0.1'

test('a connection counts until its worker says that it has ended, and not only while it waits', () => {
  const guests = guestsOf(1)
  const socket = from()

  const first = guests.enter(socket, address)
  const counted = guests.handTo(worker, socket)
  socket.emit('close') // the primary's own end of it
  const second = guests.enter(from(), address)
  guests.left(other, ['10.0.0.1']) // never had it
  const third = guests.enter(from(), address)
  guests.left(worker, ['10.0.0.1'])
  const fourth = guests.enter(from(), address)

  expect([first, counted, second, third, fourth]).toEqual([true, '10.0.0.1', false, false, true])
})

test('what ends while it waits counts no longer', () => {
  const guests = guestsOf(1)
  const socket = from()

  guests.enter(socket, address)
  socket.emit('close')

  expect(guests.enter(from(), address)).toBe(true)
})

test('what could not be handed over counts once, with whoever has it next', () => {
  const guests = guestsOf(1)
  const socket = from()
  guests.enter(socket, address)

  guests.takeBack(worker, socket, guests.handTo(worker, socket))
  guests.gone(worker)
  const meanwhile = guests.enter(from(), address)
  guests.handTo(other, socket)
  guests.gone(other)
  guests.gone(other)

  expect([meanwhile, guests.enter(from(), address), guests.enter(from(), address)]).toEqual([false, true, false])
})
