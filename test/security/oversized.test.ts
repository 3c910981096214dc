import { afterAll, beforeAll, expect, test } from 'vitest'
import { openGateway, type TestGateway } from '../helpers/gateway.ts'
import { parseStatus, rawClient } from '../helpers/raw-client.ts'
import { openHttpUpstream, type TestUpstream } from '../helpers/upstream.ts'
import { call } from '../helpers/wire.ts'

// The attack: something that is too large, or does not end, sent for as long as a server reads it. Each is rejected
// before it has been stored.
const MiB = 1024 * 1024
let upstream: TestUpstream
let booted: TestGateway

beforeAll(async () => {
  upstream = await openHttpUpstream()
  booted = await openGateway({ upstream: upstream.url, defaults: { maxBody: '1MiB' } })
})
afterAll(async () => {
  await booted.gateway.close()
  await upstream.close()
})

const get = 'GET /market/insights HTTP/1.1\r\nHost: a\r\n'
const post = 'POST /inventory/sync HTTP/1.1\r\nHost: a\r\n'

test.each([
  ['a method', 400, '', 'A'.repeat(1000)],
  ['a Host', 431, 'GET / HTTP/1.1\r\nHost: ', 'a'.repeat(1000)],
  ['a field name', 431, get, 'A'.repeat(1000)],
  ['a field value', 431, `${get}A: `, 'a'.repeat(1000)],
  ['fields', 431, get, 'A: b\r\n'.repeat(200)],
  ['fields without a value', 431, get, 'A:\r\n'.repeat(200)],
  // Without its line in the packet, a target cannot be distinguished from fields.
  ['a target', 431, 'GET /', 'a'.repeat(1000)],
  ['a body of a length that is too large', 413, `${post}Content-Length: 99999999\r\n\r\n`, 'a'.repeat(1000)],
  ['chunks', 413, `${post}Transfer-Encoding: chunked\r\n\r\n`, `3e8\r\n${'a'.repeat(1000)}\r\n`],
  ['a chunk', 413, `${post}Transfer-Encoding: chunked\r\n\r\nfffffff\r\n`, 'a'.repeat(1000)],
  ['the size of a chunk', 400, `${post}Transfer-Encoding: chunked\r\n\r\n`, '1'.repeat(1000)],
])('%s without an end is %i, and another client is served', async (_, status, first, more) => {
  const before = upstream.requests.length
  const client = await rawClient(booted.port)
  let sent = 0

  client.send(first)
  const pump = (): void => {
    if (client.socket.destroyed || sent > 64 * MiB) return
    sent += more.length
    client.socket.write(more, () => setImmediate(pump))
  }
  pump()
  const { received } = await client.ended()
  const other = await call(booted.port, { target: '/market/insights' })

  const reported = received.includes(' 414 ') ? 431 : parseStatus(received) // as the packets fall
  expect([reported, other.status]).toEqual([status, 200])
  expect(sent).toBeLessThan(64 * MiB) // or it was read for ever
  expect(upstream.requests.slice(before).map(({ method }) => method)).toEqual(['GET'])
})
