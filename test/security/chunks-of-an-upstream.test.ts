import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../helpers/upstream.ts'
import { call, renderHead } from '../helpers/wire.ts'

// The attack: an upstream answers in chunks of a byte. Each handed on, framed and written by itself, they kept the
// gateway busy for longer than the time-outs of everyone else: 256 KiB of them for half a minute.
const chunks = 64 * 1024

test('a body in chunks of a byte reaches the client in few pieces, and another client is served meanwhile', async () => {
  const bytewise = await rawUpstream((socket) =>
    onRequest(socket, () =>
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(chunks)}0\r\n\r\n`),
    ),
  )
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, upstreams: { inventory: bytewise.url } })
  const client = await rawClient(port)

  client.send(renderHead({ method: 'POST', target: '/inventory/sync', fields: ['Content-Length', '0'] }))
  const [received, other] = await Promise.all([
    client.until((text) => text.endsWith('\r\n0\r\n\r\n')),
    call(port, { target: '/market/insights' }),
  ])
  client.close()

  const body = received.slice(received.indexOf('\r\n\r\n') + 4)
  expect(other.status).toBe(200)
  expect(body.match(/x/g)).toHaveLength(chunks)
  expect(body.match(/\r\n/g)?.length).toBeLessThan(1024) // two a piece
})
