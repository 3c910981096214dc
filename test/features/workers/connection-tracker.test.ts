import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type ConnectionTracker, createConnectionTracker } from '../../../src/features/workers/acceptor.ts'
import { testConfig } from '../../helpers/gateway.ts'

const worker = {}
const other = {}

const createTracker = (max: number): ConnectionTracker<object> => {
  const tracker = createConnectionTracker()
  tracker.applyConfig(testConfig({ listen: { maxConnectionsPerAddress: max } }).listen)
  return tracker
}

const fakeSocket = (): Socket => new EventEmitter() as Socket
const address = '10.0.0.1'

test('a connection counts until its worker reports its end, and not only while it waits', () => {
  const tracker = createTracker(1)
  const socket = fakeSocket()

  const first = tracker.acquire(socket, address)
  const counted = tracker.assign(worker, socket)
  socket.emit('close') // the primary's own end of it
  const second = tracker.acquire(fakeSocket(), address)
  tracker.release(other, ['10.0.0.1']) // never had it
  const third = tracker.acquire(fakeSocket(), address)
  tracker.release(worker, ['10.0.0.1'])
  const fourth = tracker.acquire(fakeSocket(), address)

  expect([first, counted, second, third, fourth]).toEqual([true, '10.0.0.1', false, false, true])
})

test('a load balancer that names its clients is not counted, and each of these is by what a worker has read', () => {
  const tracker = createConnectionTracker()
  const listen = { maxConnectionsPerAddress: 1, proxyProtocol: { from: ['10.0.0.0/24'] } }
  tracker.applyConfig(testConfig({ listen }).listen)
  const balancer = ['10.0.0.1', '10.0.0.1', '::ffff:10.0.0.1'].map((each) => tracker.acquire(fakeSocket(), each))

  const counted = [tracker.acquireFor(worker, '192.0.2.7'), tracker.acquireFor(other, '192.0.2.7')]
  tracker.release(worker, ['192.0.2.7'])
  const next = tracker.acquireFor(other, '192.0.2.7')
  tracker.releaseAll(other)

  expect(balancer).toEqual([true, true, true])
  expect([...counted, next]).toEqual(['192.0.2.7', false, '192.0.2.7'])
  expect(tracker.acquire(fakeSocket(), '192.0.2.7')).toBe(true)
})

test('what ends while it waits counts no longer', () => {
  const tracker = createTracker(1)
  const socket = fakeSocket()

  tracker.acquire(socket, address)
  socket.emit('close')

  expect(tracker.acquire(fakeSocket(), address)).toBe(true)
})

test('what could not be handed over counts once, with the worker that has it next', () => {
  const tracker = createTracker(1)
  const socket = fakeSocket()
  tracker.acquire(socket, address)

  tracker.unassign(worker, socket, tracker.assign(worker, socket))
  tracker.releaseAll(worker)
  const meanwhile = tracker.acquire(fakeSocket(), address)
  tracker.assign(other, socket)
  tracker.releaseAll(other)
  tracker.releaseAll(other)

  expect([meanwhile, tracker.acquire(fakeSocket(), address), tracker.acquire(fakeSocket(), address)]).toEqual([
    false,
    true,
    false,
  ])
})
