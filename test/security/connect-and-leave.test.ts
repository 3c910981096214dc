import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'
import { call, eventually } from '../helpers/wire.ts'

// The attack: behind CONNECT a connection carries no HTTP, and a server that lets go of it no longer notices that it
// has closed. A client that left then would leave the calls before it running, and each would hold its upstream
// connection for good.
const connections = 2
const get = (query: string): string => `GET /market/insights?${query} HTTP/1.1\r\nHost: a\r\n\r\n`
const connectRequest = 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n'

/** Opens an upstream that answers `quick`, never answers `stall`, and answers anything else without an end. */
const upstreamOf = async () => {
  const open = new Set<Socket>()
  const upstream = await rawUpstream((socket) => {
    socket.on('end', () => socket.destroy())
    onRequest(socket, (head) => {
      if (head.includes('?quick')) return void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      open.add(socket)
      socket.on('close', () => open.delete(socket))
      if (head.includes('?stall')) return
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
      socket.write(Buffer.alloc(1024 * 1024))
    })
  })
  return { upstream, open }
}

test.each(['destroy', 'resetAndDestroy'] as const)(
  'a client that asks twice, then for a tunnel, and leaves (%s) leaves no call behind',
  async (leave) => {
    const { upstream, open } = await upstreamOf()
    const { port, line } = await bootGateway({ upstream: upstream.url, defaults: { maxConnections: 3 * connections } })
    const client = await rawClient(port)

    client.send(get('stall') + get('large') + connectRequest)
    await eventually(() => open.size === connections)
    client.socket[leave]()
    await eventually(() => open.size === 0)
    const response = await call(port, { target: '/market/insights?quick' })

    expect(response.status).toBe(200)
    expect(await line(({ failure }) => failure !== undefined)).toMatchObject({ failure: 'client-gone' })
  },
)
