import { expect, test } from 'vitest'
import { liveGatewayForAll } from '../helpers/live-gateway.ts'
import { parseStatus, rawClient } from '../helpers/raw-client.ts'
import { call } from '../helpers/wire.ts'

// The attack: an element that is too large, or endless. Each is rejected before it is stored.
const most = 64 * 1024 * 1024
const site = liveGatewayForAll({ defaults: { maxBody: '1MiB' } })

const get = 'GET /market/insights HTTP/1.1\r\nHost: a\r\n'
const post = 'POST /inventory/sync HTTP/1.1\r\nHost: a\r\n'

test.each([
  ['a method', 400, '', 'A'.repeat(1000)],
  ['a field name', 431, get, 'A'.repeat(1000)],
  ['a field value', 431, `${get}A: `, 'a'.repeat(1000)],
  ['fields', 431, get, 'A: b\r\n'.repeat(200)],
  // Without its line in the packet, a target cannot be distinguished from fields.
  ['a target', 431, 'GET /', 'a'.repeat(1000)],
  ['a body of a length that is too large', 413, `${post}Content-Length: 99999999\r\n\r\n`, 'a'.repeat(1000)],
  ['chunks', 413, `${post}Transfer-Encoding: chunked\r\n\r\n`, `3e8\r\n${'a'.repeat(1000)}\r\n`],
  ['a chunk', 413, `${post}Transfer-Encoding: chunked\r\n\r\nfffffff\r\n`, 'a'.repeat(1000)],
  ['the size of a chunk', 400, `${post}Transfer-Encoding: chunked\r\n\r\n`, '1'.repeat(1000)],
])('%s without an end is %i, and another client is served', async (_, status, first, more) => {
  const before = site.server.requests.length
  const client = await rawClient(site.port)
  let sent = 0
  const pump = (): void => {
    if (client.socket.destroyed || sent > most) return
    sent += more.length
    client.socket.write(more, () => setImmediate(pump))
  }

  client.send(first)
  pump()
  const { received } = await client.ended()
  const other = await call(site.port)

  const reported = received.includes(' 414 ') ? 431 : parseStatus(received) // as the packets fall
  expect([reported, other.status]).toEqual([status, 200])
  expect(sent).toBeLessThan(most) // or it was read for ever
  expect(site.server.requests.slice(before).map(({ method }) => method)).toEqual(['GET'])
})
