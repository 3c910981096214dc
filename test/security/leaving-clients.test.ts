import { spawnSync } from 'node:child_process'
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../helpers/upstream.ts'
import { call, eventually } from '../helpers/wire.ts'

describe('behind CONNECT:', () => {
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
      const { port, line } = await bootGateway({
        upstream: upstream.url,
        defaults: { maxConnections: 3 * connections },
      })
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
})

describe('before the connection is accepted:', () => {
  /** Sends bytes on a connection and resets it, while this thread, which would accept it, stands still. */
  const sendAndReset = (port: number, bytes: Buffer): void => {
    const script = `require('node:net').connect(${port}, '127.0.0.1', function () {
    this.write(Buffer.from('${bytes.toString('base64')}', 'base64'))
    this.resetAndDestroy()
  })`
    const { status } = spawnSync(process.execPath, ['-e', script])
    expect(status).toBe(0)
  }

  describe.each([
    ['a request', Buffer.from('GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n')],
    ['a PROXY protocol header that is not taken', Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex')],
  ])('%s on a connection that is reset before it is accepted', (_, bytes) => {
    test('is not served, and stands nowhere as one of no address', async () => {
      const upstream = await httpUpstream()
      const { port, url, lines, line } = await bootGateway({ upstream: upstream.url })

      sendAndReset(port, bytes)

      expect((await fetch(`${url}/market/insights`)).status).toBe(200)
      await line(({ msg, status }) => msg === 'exchange' && status === 200)
      expect(lines.filter(({ msg }) => msg === 'exchange')).toMatchObject([{ client: '127.0.0.1', status: 200 }])
      expect(upstream.begun()).toBe(1)
    })
  })
})
