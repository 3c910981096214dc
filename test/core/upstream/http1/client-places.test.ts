import { describe, expect, test } from 'vitest'
import type { Exchange } from '../../../../src/core/exchange/exchange.ts'
import { ClientPlacesTable, mayTakePlace } from '../../../../src/core/upstream/http1/client-places.ts'
import type { UpstreamConnection } from '../../../../src/core/upstream/http1/connection.ts'
import { ConnectionPool } from '../../../../src/core/upstream/http1/connection-pool.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

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

/** Asks for places until one request has to wait, and returns how many did not. */
const takeAll = (pool: ConnectionPool, client: string, inFlight = 1): number => {
  for (let taken = 0; ; taken++) {
    pool.acquire(request(client, inFlight))
    if (pool.pendingCount > 0) return taken
  }
}

describe('of 256 places a client alone gets', () => {
  test.each([
    ['two thirds, a request at a time on each connection', 1, 171],
    ['half, several requests at a time on a connection', 2, 128],
  ])('%s', (_, inFlight, places) => {
    expect(takeAll(openPool(256, 1024), '192.0.2.1', inFlight)).toBe(places)
  })
})

test('a client with nothing gets the last place', () => {
  expect([mayTakePlace(0, 1, { peer: peerWith(9) }), mayTakePlace(1, 1, { peer: peerWith(9) })]).toEqual([true, false])
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
