import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { isWholeResponse, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream } from '../helpers/upstream.ts'

// The attack: connections are ten thousand, and cost the client next to nothing. An attacker who keeps them all,
// without ever asking for anything, keeps every other client out.
const timeouts = { headers: '600ms', keepAlive: '600ms' }
const get = 'GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n'
const rejectedRequest = 'POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n'

/** Sends a byte now and then until the connection ends. */
const drip = (socket: Socket, text: string): void => {
  const tap = setInterval(() => socket.write(text), 50)
  socket.on('close', () => clearInterval(tap))
}

test.each([
  ['that never sends a byte', '', null],
  ['that sends empty lines and no request', '', '\r\n'],
  ['that has had its answer', get, null],
  ['that sends empty lines behind its answer', get, '\r\n'],
  ['that sends the next request a byte at a time', get, 'G'],
  ['that sends the body of a refused request a byte at a time', rejectedRequest, 'x'],
])('a connection %s is closed', async (_, first, then) => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, listen: { timeouts } })
  const client = await rawClient(port)

  if (first !== '') {
    client.send(first)
    await client.until(isWholeResponse)
  }
  if (then !== null) drip(client.socket, then)
  const { how } = await client.ended()

  expect(how).toMatch(/^(?:end|reset)$/)
})
