import { describe, expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { isWholeResponse, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../helpers/upstream.ts'
import { call, eventually, renderHead } from '../helpers/wire.ts'

describe('extensions of chunks', () => {
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
})

describe('chunks of an upstream', () => {
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
})

describe('trailers', () => {
  // The attack: fields behind the body. They come when all checks are over, and a back end that merges them into the
  // head takes a length, an authorization or a client's address from there. Or they have no end.
  const post = (trailers: string): string =>
    `POST /inventory/sync HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n${trailers}`

  test('trailers reach no upstream', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url })
    const client = await rawClient(port)

    client.send(post('Authorization: stolen\r\nX-Forwarded-For: 10.0.0.1\r\nHost: other\r\n\r\n'))
    await client.until(isWholeResponse)
    client.close()

    expect(JSON.stringify(upstream.requests[0]?.rawHeaders)).not.toMatch(/stolen|10\.0\.0\.1|other/)
  })

  test.each([
    ['one trailer', `A: ${'b'.repeat(1024)}`, 'b'.repeat(1024)],
    ['trailers', '', `A: ${'b'.repeat(100)}\r\n`],
  ])(
    '%s without an end: the request is rejected, nothing of it ends cleanly, and another client is served',
    async (_, first, more) => {
      const upstream = await httpUpstream()
      const { port } = await bootGateway({ upstream: upstream.url })
      const client = await rawClient(port)

      client.send(post(first))
      await eventually(() => upstream.begun() === 1)
      for (let sent = 0; sent < 1000; sent++) client.send(more)
      const { received } = await client.ended()
      const other = await call(port, { target: '/market/insights' })

      expect(parseStatus(received)).toBe(431)
      expect(other.status).toBe(200)
      expect(upstream.requests.map(({ method }) => method)).toEqual(['GET'])
    },
  )
})
