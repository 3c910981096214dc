import { expect, onTestFinished, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { parseStatus, type RawClient, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream } from '../helpers/upstream.ts'
import { call } from '../helpers/wire.ts'

// The attack (Slowloris): many clients begin a request, and add a field to it now and then. Each is one of ten thousand
// connections, and a server that waits for the end of a head for ever has soon none left.
const crowd = 100
const headersMs = 1000

test('a crowd that sends its heads a field at a time gets 408, and another client is served meanwhile', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({
    upstream: upstream.url,
    listen: { maxConnections: crowd + 10, timeouts: { headers: `${headersMs}ms` } },
  })
  // Each begins as soon as it is connected: of one that has sent nothing in time, nothing is said.
  const begin = async (): Promise<RawClient> => {
    const client = await rawClient(port)
    client.send('GET /market/insights HTTP/1.1\r\nHost: a\r\n')
    return client
  }
  const clients = await Promise.all(Array.from({ length: crowd }, begin))
  const tap = setInterval(() => {
    for (const { socket } of clients) if (!socket.destroyed) socket.write('X-Slow: a\r\n')
  }, 50)
  onTestFinished(() => clearInterval(tap))

  const meanwhile = await call(port, { target: '/market/insights' })
  const ended = await Promise.all(clients.map((client) => client.ended()))
  const afterwards = await call(port, { target: '/market/insights' })

  expect([meanwhile.status, afterwards.status]).toEqual([200, 200])
  expect(ended.map(({ received }) => parseStatus(received))).toEqual(Array(crowd).fill(408))
  expect(upstream.begun()).toBe(2)
})
