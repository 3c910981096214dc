import { expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { isWholeResponse, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, rawUpstream } from '../helpers/upstream.ts'
import { call } from '../helpers/wire.ts'

// The attack (CVE-2024-22019): the extensions of a chunk count as none of its body, and a server that limits bodies
// alone reads them for ever.
const head = 'POST /inventory/sync HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
const KiB = 1024

test('an extension without an end is rejected, and another client is served meanwhile', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)

  client.send(`${head}1;`)
  for (let sent = 0; sent < 64; sent++) client.send('a'.repeat(KiB))
  const { received } = await client.ended()
  const other = await call(port, { target: '/market/insights' })

  expect(parseStatus(received)).toBe(400)
  expect(other.status).toBe(200)
  expect(upstream.requests.map(({ method }) => method)).toEqual(['GET'])
})

test('extensions that are short are left behind, however many there are', async () => {
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)

  client.send(`${head}${`1;${'a'.repeat(KiB)}\r\nx\r\n`.repeat(500)}0\r\n\r\n`)
  const received = await client.until(isWholeResponse)
  client.close()

  expect(parseStatus(received)).toBe(200)
  expect(upstream.requests[0]?.body.toString()).toBe('x'.repeat(500))
})

test('a body in chunks of a byte is forwarded in few pieces, and another client is served meanwhile', async () => {
  let body = ''
  const slow = await rawUpstream((socket) =>
    socket.setEncoding('latin1').on('data', (text: string) => {
      body += text
      if (body.endsWith('\r\n0\r\n\r\n')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    }),
  )
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, upstreams: { inventory: slow.url } })
  const client = await rawClient(port)

  client.send(`${head}${'1\r\nx\r\n'.repeat(64 * KiB)}0\r\n\r\n`)
  const other = await call(port, { target: '/market/insights' })
  const received = await client.until(isWholeResponse)
  client.close()

  expect([other.status, parseStatus(received)]).toEqual([200, 200])
  const chunks = body.slice(body.indexOf('\r\n\r\n') + 4)
  expect(chunks.match(/x/g)?.length).toBe(64 * KiB)
  expect(chunks.match(/\r\n/g)?.length).toBeLessThan(4 * KiB) // two a chunk, and not of 64 Ki chunks
})
