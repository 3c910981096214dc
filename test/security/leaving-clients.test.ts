import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../helpers/upstream.ts'
import { bareGet, call, eventually } from '../helpers/wire.ts'

// The attack: behind CONNECT a connection carries no HTTP, and a server that lets go of it does not notice its close. A
// client that left then would leave its earlier calls running, each with its upstream connection.
test.each(['destroy', 'resetAndDestroy'] as const)(
  'a client that asks twice, then for a tunnel, and leaves (%s) leaves no call behind',
  async (leave) => {
    const upstream = await rawUpstream((socket) => {
      socket.on('end', () => socket.destroy())
      onRequest(socket, (head) => {
        if (head.includes('?quick')) return void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
        if (head.includes('?stall')) return
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
        socket.write(Buffer.alloc(1024 * 1024))
      })
    })
    const { port, line } = await bootGateway({ upstream: upstream.url, defaults: { maxConnections: 6 } })
    const client = await rawClient(port)
    const get = (query: string): string => bareGet(`/market/insights?${query}`)

    client.send(`${get('stall')}${get('large')}CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n`)
    await eventually(() => upstream.connections() === 2)
    client.socket[leave]()
    await eventually(() => upstream.connections() === 0)
    const response = await call(port, { target: '/market/insights?quick' })

    expect(response.status).toBe(200)
    expect(await line(({ failure }) => failure !== undefined)).toMatchObject({ failure: 'client-gone' })
  },
)

/** Sends bytes on a connection and resets it, while this thread, which would accept it, stands still. */
const sendAndReset = (port: number, bytes: Buffer): void => {
  const script = `require('node:net').connect(${port}, '127.0.0.1', function () {
    this.write(Buffer.from('${bytes.toString('base64')}', 'base64'))
    this.resetAndDestroy()
  })`
  expect(spawnSync(process.execPath, ['-e', script]).status).toBe(0)
}

test.each([
  ['a request', Buffer.from(bareGet())],
  ['a PROXY protocol header that is not taken', Buffer.from('0d0a0d0a000d0a515549540a20000000', 'hex')],
])(
  '%s on a connection that is reset before it is accepted is not served, nor stands as one of no address',
  async (_, bytes) => {
    const upstream = await httpUpstream()
    const { port, lines, line } = await bootGateway({ upstream: upstream.url })

    sendAndReset(port, bytes)

    expect((await call(port)).status).toBe(200)
    await line(({ msg, status }) => msg === 'exchange' && status === 200)
    expect(lines.filter(({ msg }) => msg === 'exchange')).toMatchObject([{ client: '127.0.0.1', status: 200 }])
    expect(upstream.begun()).toBe(1)
  },
)
