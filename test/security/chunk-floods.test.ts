import { describe, expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { liveGatewayForAll } from '../helpers/live-gateway.ts'
import { isWholeResponse, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, rawUpstream } from '../helpers/upstream.ts'
import { call, eventually } from '../helpers/wire.ts'

const KiB = 1024
const many = 64 * KiB
const bytewise = `${'1\r\nx\r\n'.repeat(many)}0\r\n\r\n`
const head = 'POST /inventory/sync HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'

const site = liveGatewayForAll()

/** Sends the beginning of a request and, once `begun`, more of it than a server reads; returns the status. */
const floodWith = async (first: string, more: string, begun = (): boolean => true): Promise<number> => {
  const client = await rawClient(site.port)
  client.send(first)
  await eventually(begun)
  for (let sent = 0; sent < 1000; sent++) client.send(more)
  return parseStatus((await client.ended()).received)
}

describe('extensions of chunks', () => {
  // The attack (CVE-2024-22019): chunk extensions do not count as body, so a server that limits bodies alone reads them
  // for ever.
  test('endless chunk extensions are rejected, and another client is served', async () => {
    const before = site.server.requests.length

    const statuses = [await floodWith(`${head}1;`, 'a'.repeat(KiB)), (await call(site.port)).status]

    expect(statuses).toEqual([400, 200])
    expect(site.server.requests.slice(before).map(({ method }) => method)).toEqual(['GET'])
  })

  test('short chunk extensions are skipped, however many there are', async () => {
    const client = await rawClient(site.port)

    client.send(`${head}${`1;${'a'.repeat(KiB)}\r\nx\r\n`.repeat(500)}0\r\n\r\n`)
    const received = await client.until(isWholeResponse)
    client.close()

    expect(parseStatus(received)).toBe(200)
    expect(site.server.requests.at(-1)?.body.toString()).toBe('x'.repeat(500))
  })
})

// The attack: chunks of a byte. Handed on one by one, 256 KiB of them kept the gateway busy for half a minute, longer
// than all timeouts.
test('a body in chunks of a byte passes in few pieces, both ways, and another client is served meanwhile', async () => {
  let uploaded = ''
  const slow = await rawUpstream((socket) =>
    socket.setEncoding('latin1').on('data', (text: string) => {
      uploaded += text
      if (uploaded.endsWith('\r\n0\r\n\r\n'))
        socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${bytewise}`)
    }),
  )
  const upstream = await httpUpstream()
  const { port } = await bootGateway({ upstream: upstream.url, upstreams: { inventory: slow.url } })
  const client = await rawClient(port)

  client.send(head + bytewise)
  const other = await call(port)
  const downloaded = await client.until((text) => text.endsWith('\r\n0\r\n\r\n'))
  client.close()

  expect([other.status, parseStatus(downloaded)]).toEqual([200, 200])
  for (const text of [uploaded, downloaded]) {
    const body = text.slice(text.indexOf('\r\n\r\n') + 4)
    expect(body.match(/x/g)).toHaveLength(many)
    expect(body.match(/\r\n/g)?.length).toBeLessThan(4 * KiB) // two a piece
  }
})

describe('trailers', () => {
  // The attack: fields behind the body. They come after all checks, and a back end that merges them into the head takes
  // a length, an authorization or a client's address from them. Or they never end.
  test.each([
    ['one', `A: ${'b'.repeat(KiB)}`, 'b'.repeat(KiB)],
    ['many', '', `A: ${'b'.repeat(100)}\r\n`],
  ])(
    'endless trailers in %s: nothing of the request ends cleanly, and another client is served',
    async (_, first, more) => {
      const [before, begun] = [site.server.requests.length, site.server.begun()]
      const isBegun = (): boolean => site.server.begun() > begun

      const statuses = [
        await floodWith(`${head}1\r\nx\r\n0\r\n${first}`, more, isBegun),
        (await call(site.port)).status,
      ]

      expect(statuses).toEqual([431, 200])
      expect(site.server.requests.slice(before).map(({ method }) => method)).toEqual(['GET'])
    },
  )
})
