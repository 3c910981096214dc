import { once } from 'node:events'
import { readlinkSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { allowHalfOpen, applyLimits } from '../../src/downstream/http1/http1-server.ts'
import { stopParsing } from '../../src/downstream/listener/client-connection.ts'
import { getFileDescriptor } from '../../src/shared/file-descriptor.ts'
import { testConfig } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { eventually } from '../helpers/wire.ts'

// The parts of Node beyond its documentation that src/downstream uses. A release of Node that changes one fails here,
// by its name.

const serve = async (listener: RequestListener, prepare: (server: Server) => void = () => {}): Promise<number> => {
  const server = createServer(listener)
  prepare(server)
  onTestFinished(() => void server.close().closeAllConnections())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`

test('parser.onIncoming: no further request is made of a packet, nor of a later one, and the response due goes out', async () => {
  const requests: [IncomingMessage, ServerResponse][] = []
  const port = await serve((...both) => {
    requests.push(both)
    stopParsing(both[0].socket)
  })
  const client = await rawClient(port)
  const packets = [get('/1') + get('/2'), get('/3')] as const

  client.send(packets[0])
  await eventually(() => requests.length === 1)
  client.send(packets[1])
  await eventually(() => requests[0]?.[0].socket.bytesRead === packets.join('').length)
  requests[0]?.[1].end('due')
  await client.until((received) => received.endsWith('due'))
  client.close()

  expect(requests.map(([{ url }]) => url)).toEqual(['/1'])
})

test('response._header: its text is what goes out before the body, whole', async () => {
  const port = await serve((_request, response) => {
    response.writeHead(200, ['Content-Length', '4'])
    const seen = Reflect.get(response, '_header')
    Reflect.set(response, '_header', `HTTP/1.1 200 Changed\r\nContent-Length: ${seen === null ? 0 : 4}\r\n\r\n`)
    response.end('body')
  })

  const client = await rawClient(port)
  client.send(get('/'))
  const received = await client.until((text) => text.endsWith('body'))
  client.close()

  expect(received).toBe('HTTP/1.1 200 Changed\r\nContent-Length: 4\r\n\r\nbody')
})

test.each([true, false])(
  'server.httpAllowHalfOpen: a client that has ended its side gets its response (%s)',
  async (allowed) => {
    const port = await serve(
      (request, response) => void request.socket.once('end', () => response.end('due')),
      (server) => allowed && allowHalfOpen(server),
    )
    const client = await rawClient(port)

    client.socket.end(get('/'))
    const { received } = await client.ended()

    expect(received.endsWith('due')).toBe(allowed)
  },
)

test('server.maxHeaderSize: once set again, it holds for the next connection', async () => {
  const { listen } = testConfig()
  const port = await serve(
    (_request, response) => void response.end(),
    (server) => {
      applyLimits(server, server, { ...listen, maxTarget: 64, maxHeaders: 1024 })
      server.once('connection', () => applyLimits(server, server, { ...listen, maxTarget: 64, maxHeaders: 8 * 1024 }))
    },
  )
  const statuses: (string | undefined)[] = []

  for (const _ of [1, 2]) {
    const client = await rawClient(port)
    client.send(`GET / HTTP/1.1\r\nHost: a\r\nX-Large: ${'x'.repeat(4096)}\r\nConnection: close\r\n\r\n`)
    statuses.push((await client.ended()).received.split(' ')[1])
  }

  expect(statuses).toEqual(['431', '200'])
})

test('_handle.fd: the descriptor of an open server is found, and none of a closed one', async () => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')

  const open = getFileDescriptor(server)
  const link = readlinkSync(`/proc/self/fd/${open}`)
  await new Promise((resolve) => server.close(resolve))

  expect(link).toMatch(/^socket:/)
  expect(getFileDescriptor(server)).toBeNull()
})
