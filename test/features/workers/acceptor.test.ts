/** Clients that connect while no worker takes them, and how many connections an address has. */

import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { ListenConfig } from '../../../src/core/config/config.ts'
import {
  type ConnectionTracker,
  createConnectionTracker,
  openAcceptor,
} from '../../../src/features/workers/acceptor.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { rawClient } from '../../helpers/raw-client.ts'

const openListeningAcceptor = async (maxWaiting?: number, listen: Partial<ListenConfig> = {}) => {
  let rejected = 0
  const acceptor = openAcceptor(
    { overLimit: { record: () => rejected++ }, overAddressLimit: { record: () => rejected++ } },
    1000,
    maxWaiting,
  )
  acceptor.applyConfig({ ...testConfig().listen, maxConnections: null, ...listen })
  const { port } = await acceptor.listen({ host: '127.0.0.1', port: 0 })
  const handedOff: Socket[] = []
  const receiver = { handOff: (socket: Socket) => handedOff.push(socket) > 0, onTimeout: () => {} }
  onTestFinished(() => {
    acceptor.distributor.remove(receiver)
    acceptor.stopAccepting()
    for (const socket of handedOff) socket.destroy()
  })
  return { acceptor, port, handedOff, receiver, rejected: () => rejected }
}

test('so many wait that descriptors are left to start a worker with; the others are closed', async () => {
  const { port, acceptor, receiver, handedOff } = await openListeningAcceptor(2)
  const clients = [await rawClient(port), await rawClient(port), await rawClient(port)]

  const { how } = (await clients[2]?.ended()) ?? {}
  acceptor.distributor.add(receiver)
  acceptor.distributor.onAck(receiver)

  expect(how).toBe('end')
  expect(handedOff).toHaveLength(2)
  for (const client of clients) client.close()
})

test.each([null, 10])(
  'a connection that its client has reset meanwhile is handed to no worker, a half-closed one is (%s of one address)',
  async (maxPerAddress) => {
    const { acceptor, port, handedOff, receiver } = await openListeningAcceptor(undefined, {
      maxConnectionsPerAddress: maxPerAddress,
    })
    const [reset, halfClosed] = [await rawClient(port), await rawClient(port)]
    reset.socket.resetAndDestroy()
    halfClosed.socket.end('the end')
    await reset.ended()
    const last = await rawClient(port)

    acceptor.distributor.add(receiver)
    const acknowledged = (): number => {
      acceptor.distributor.onAck(receiver)
      return handedOff.length
    }
    await expect.poll(acknowledged).toBe(2)

    expect(handedOff.map(({ remotePort }) => remotePort)).toEqual([halfClosed.socket.localPort, last.socket.localPort])
    for (const client of [halfClosed, last]) client.close()
  },
)

test('an address has no more connections than its limit, whichever process has the earlier ones', async () => {
  const { port, acceptor, receiver, handedOff, rejected } = await openListeningAcceptor(undefined, {
    maxConnectionsPerAddress: 1,
  })
  acceptor.distributor.add(receiver)
  const first = await rawClient(port)
  await expect.poll(() => handedOff.length).toBe(1)

  const second = await (await rawClient(port)).ended()

  expect([second.received, rejected()]).toEqual(['', 1])
  first.close()
})

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
  socket.emit('close')
  const second = tracker.acquire(fakeSocket(), address)
  tracker.release(other, ['10.0.0.1'])
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
