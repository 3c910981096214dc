import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Exchange } from '../../../../src/core/exchange/exchange.ts'
import type { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { ClientPlacesTable, mayTakePlace, type PlaceWaiter } from '../../../../src/core/upstream/http1/client-places.ts'
import type { UpstreamConnection } from '../../../../src/core/upstream/http1/connection.ts'
import { ConnectionPool } from '../../../../src/core/upstream/http1/connection-pool.ts'
import type { OnConnected } from '../../../../src/core/upstream/http1/connector.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

/** Creates a pool whose connections are made at once, to nothing. */
const connections = (maxConnections: number, maxPending: number, connect = createFakeConnector([])): ConnectionPool =>
  new ConnectionPool({ maxConnections, maxPending, isFair: false, keepAliveMs: 1000, connect })

/** Creates a connector to nothing, which remembers the sockets. */
const createFakeConnector = (sockets: Socket[], remoteAddress?: string) => () => (done: OnConnected) => {
  const duplex = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
  const socket = Object.assign(duplex, { remoteAddress }) as unknown as Socket
  sockets.push(socket)
  queueMicrotask(() => done(null, socket))
  return socket
}

const nothing = () => {}
const events = { onInterim: nothing, onHead: nothing, onBody: nothing, onEnd: nothing, onError: nothing }
const handler = { isSentOnce: false, isLast: false, ...events }

const unshared = { exchange: fakeExchange() }

/** A request that runs until it finishes. */
const request = (ran: (name: number) => void, name: number) => {
  let held: UpstreamConnection | null = null
  const onConnection = (connection: UpstreamConnection): boolean => {
    held = connection
    connection.send(handler, 'GET / HTTP/1.1\r\n\r\n', [], 0)
    ran(name)
    return true
  }
  return { ...unshared, onConnection, onError: vi.fn((_: GatewayError) => {}), finish: () => held?.abort() }
}

type User = ReturnType<typeof request>

/** Waits until connections that have begun are made. */
const made = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const toAddresses = (addresses: readonly string[]) => addresses.map((address) => ({ address, family: 0 }))

/** A request that has left when its connection is made. */
const gone: PlaceWaiter = { ...unshared, onConnection: () => false, onError: () => {} }

test('a long queue is empty at once when its endpoint is cut, and each has failed', async () => {
  const all = connections(1, 20_000)
  const requests = Array.from({ length: 20_001 }, (_, name) => request(() => {}, name))
  for (const each of requests) all.acquire(each)

  await all.destroy(new Error('shut down'))

  expect(new Set(requests.map(({ onError }) => onError.mock.calls[0]?.[0].kind))).toEqual(new Set(['connect-failed']))
  expect(all.isFull).toBe(false)
})

test('a request whose connection ends before it is written has not been sent: any request may go elsewhere', async () => {
  const sockets: Socket[] = []
  const all = connections(1, 0, createFakeConnector(sockets))
  const onError = vi.fn()
  const onConnection = (connection: UpstreamConnection): boolean => {
    connection.send({ ...handler, onError }, 'POST / HTTP/1.1\r\n', [], 0)
    sockets[0]?.destroy()
    return true
  }
  all.acquire({ ...unshared, onConnection, onError: () => {} })
  await made()
  await made()

  expect(onError.mock.calls).toMatchObject([[{ kind: 'connect-failed', reason: 'closed' }]])
  expect(all.isFull).toBe(false)
})

test.each([
  ['is kept', ['::1', '192.0.2.1'], false],
  ['is not kept where that was dropped meanwhile', ['192.0.2.1'], true],
])('a connection to the address that stood in for another %s', async (_, known, isClosed) => {
  const sockets: Socket[] = []
  const all = connections(1, 0, createFakeConnector(sockets, '::1'))
  all.updateAddresses(toAddresses(['::1', '192.0.2.1']))

  all.acquire(gone)
  all.updateAddresses(toAddresses(known))
  await made()

  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([isClosed])
})

describe('an address that is not reached', () => {
  /** Opens the connections to two addresses. All are made to the one that is reachable. */
  const open = () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const sockets: Socket[] = []
    const reachable = { address: '192.0.2.1' }
    /** The pools that have connected, by the order in which they were made. The first is of no address. */
    const tried: number[] = []
    let pools = 0
    const connect = () => {
      const pool = pools++
      return (done: OnConnected) => {
        tried.push(pool)
        return createFakeConnector(sockets, reachable.address)()(done)
      }
    }
    const all = new ConnectionPool({ maxConnections: 1, maxPending: 0, isFair: false, keepAliveMs: 600_000, connect })
    onTestFinished(() => all.destroy(new Error('the test is over')))
    all.updateAddresses(toAddresses(['::1', '192.0.2.1']))
    const takeTurns = async () => {
      for (let turn = 0; turn < 2; turn++) {
        all.acquire(gone)
        await made()
      }
    }
    return { all, sockets, reachable, tried, takeTurns }
  }

  test('is tried after 1 s, 2 s, … up to 30 s, and anew once it was reached', async () => {
    const { sockets, reachable, takeTurns } = open()
    const listTries = async (seconds: number) => {
      const tries: number[] = []
      for (let second = 0; second < seconds; second++) {
        const before = sockets.length
        await takeTurns()
        if (sockets.length > before) tries.push(second)
        vi.advanceTimersByTime(1000)
      }
      return tries
    }

    const away = await listTries(100)
    reachable.address = '::1'
    vi.advanceTimersByTime(30_000)
    await takeTurns()
    sockets.at(-1)?.destroy()
    reachable.address = '192.0.2.1'
    await made()
    const awayAgain = await listTries(4)

    expect(away).toEqual([0, 1, 3, 7, 15, 31, 61, 91])
    expect(awayAgain).toEqual([0, 1, 3])
  })

  test('gets no request that is sent again on a new connection', async () => {
    const { all, tried, takeTurns } = open()
    await takeTurns()

    for (let turn = 0; turn < 2; turn++) {
      all.acquireFresh(gone)
      await made()
    }

    expect(tried).toEqual([2, 1, 2, 2])
  })
})

test('as many run and wait as may, in the order in which they came, and one that gives up makes room', async () => {
  const ran: number[] = []
  const all = connections(2, 3)
  const requests = Array.from({ length: 6 }, (_, name) => request((which) => ran.push(which), name))
  const [first, , , third, , sixth] = requests as [User, User, User, User, User, User]
  for (const each of requests.slice(0, 5)) all.acquire(each)
  await made()
  const before = [[...ran], all.isFull]
  const overloaded = { kind: 'overloaded', fields: ['Retry-After', '1'] }
  expect(() => all.acquire(sixth)).toThrow(expect.objectContaining(overloaded))

  const canceled = all.cancel(third)
  all.acquire(sixth)
  first.finish()
  await made()

  expect(before).toEqual([[0, 1], true])
  expect([canceled, ran, all.isFull]).toEqual([true, [0, 1, 2], false])
})

describe('the places of clients', () => {
  const peerWith = (inFlight: number): Exchange['peer'] => ({ ...fakeExchange().peer, inFlight })

  /** Creates a pool whose connections are never made, so that what has a place keeps it. */
  const openPool = (maxConnections: number, maxPending: number): ConnectionPool =>
    new ConnectionPool({
      maxConnections,
      maxPending,
      isFair: true,
      keepAliveMs: 1000,
      connect: () => () => ({ once: () => {}, destroy: () => {} }) as never,
    })

  const request = (client: string, inFlight = 1) => ({
    exchange: fakeExchange({ client, peer: peerWith(inFlight) }),
    onConnection: (_: UpstreamConnection) => true,
    onError: () => {},
  })

  test.each([
    ['two thirds, a request at a time on each connection', 1, 171],
    ['half, several requests at a time on a connection', 2, 128],
  ])('of 256 places a client alone gets %s', (_, inFlight, places) => {
    const pool = openPool(256, 1024)
    let taken = 0

    for (; pool.pendingCount === 0; taken++) pool.acquire(request('192.0.2.1', inFlight))

    expect(taken - 1).toBe(places)
  })

  test('a client with nothing gets the last place', () => {
    expect([0, 1].map((held) => mayTakePlace(held, 1, { peer: peerWith(9) }))).toEqual([true, false])
  })

  test('a client that waits for its share of the waiting places is rejected, and another is not', () => {
    const pool = openPool(2, 3)
    for (let n = 0; n < 4; n++) pool.acquire(request('192.0.2.1'))

    expect(pool.rejects(request('192.0.2.1').exchange)).toBe('endpoint-share')
    expect(pool.rejects(request('192.0.2.2').exchange)).toBeNull()
    pool.acquire(request('192.0.2.2'))
    expect(pool.rejects(request('192.0.2.2').exchange)).toBe('endpoint-connections')
  })

  test('a client is the id that was authenticated, or else an address, of IPv6 its network', () => {
    const table = new ClientPlacesTable()
    const find = (client: string, id: string | null = null) => {
      const exchange = fakeExchange({ client })
      if (id !== null) exchange.identity = { client: id, method: 'apiKey', keyId: null }
      return table.find(exchange)
    }

    expect(find('192.0.2.1')).toBe(find('192.0.2.1'))
    expect(find('192.0.2.1')).not.toBe(find('192.0.2.2'))
    expect(find('2001:db8::1')).toBe(find('2001:db8::2:1'))
    expect(find('2001:db8::1')).not.toBe(find('2001:db8:0:1::1'))
    expect(find('192.0.2.1', 'bank-a')).toBe(find('192.0.2.2', 'bank-a'))
    expect(find('192.0.2.1', '192.0.2.1')).not.toBe(find('192.0.2.1'))
  })

  test('a client with a request is remembered, however many others come and go', () => {
    const table = new ClientPlacesTable()
    const busy = table.find(fakeExchange({ client: '192.0.2.1' }))
    busy.running = 1

    for (let n = 0; n < 10_000; n++) table.find(fakeExchange({ client: `10.0.${n >> 8}.${n & 255}` }))

    expect(table.find(fakeExchange({ client: '192.0.2.1' }))).toBe(busy)
  })
})
