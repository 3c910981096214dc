import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { needCertificates } from '../../../helpers/certificates.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call, pseudoRandomBytes, sha256 } from '../../../helpers/wire.ts'

const { made, missing } = await needCertificates()

test('a GET is tried again until it gets a response, and its connection serves all attempts', async () => {
  const upstream = await httpUpstream((_, response) => {
    response.statusCode = upstream.requests.length < 3 ? 503 : 200
    response.end('abc')
  })
  const booted = await bootGateway({ upstream: upstream.url, defaults: { retry: {} } })

  const result = await call(booted.port)

  expect([result.status, result.body.toString()]).toEqual([200, 'abc'])
  expect(upstream.requests).toHaveLength(3)
  expect(upstream.accepted()).toBe(1)
})

test('without a retry a response is passed on as it is', async () => {
  const upstream = await httpUpstream((_, response) => response.writeHead(503).end())
  const booted = await bootGateway({ upstream: upstream.url })

  const result = await call(booted.port)

  expect(result.status).toBe(503)
  expect(upstream.requests).toHaveLength(1)
})

test.each([
  ['drop', 200, 2],
  ['relay', 502, 1],
])(
  'a GET whose connection ends behind an interim response is tried again where it was not relayed: %s',
  async (interim, status, times) => {
    let heads = 0
    const upstream = await rawUpstream((socket) =>
      onRequest(socket, () => {
        if (++heads > 1) return socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
        return socket.end('HTTP/1.1 103 Early Hints\r\n\r\n')
      }),
    )
    const booted = await bootGateway({ upstream: upstream.url, listen: { interim }, defaults: { retry: {} } })

    const response = await call(booted.port)

    expect([response.status, heads]).toEqual([status, times])
  },
)

describe.skipIf(missing)('a POST that could not be sent', () => {
  /**
   * Opens an HTTPS upstream that drops the first so many connections before the handshake, and responds with what it
   * got.
   */
  const dropping = async (drops: number) => {
    const server = createHttpsServer(made.right, async (request, response) => {
      const pieces: Buffer[] = []
      for await (const piece of request) pieces.push(piece as Buffer)
      response.end(sha256(Buffer.concat(pieces)))
    })
    let accepted = 0
    server.prependListener('connection', (socket: Socket) => {
      if (accepted++ < drops) socket.destroy()
    })
    server.on('tlsClientError', () => {})
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      server.close()
      server.closeAllConnections()
    })
    return {
      ca: made.authority.cert,
      url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
      accepted: () => accepted,
    }
  }

  test.each([{}, { chunkBytes: 5000 }])('is tried again with the whole of its body: %j', async (framing) => {
    const upstream = await dropping(2)
    const defaults = { retry: {}, tls: { ca: upstream.ca } }
    const booted = await bootGateway({ upstream: upstream.url, defaults })
    const body = pseudoRandomBytes(300_000)

    const response = await call(booted.port, { method: 'POST', target: '/valuation/score', body, ...framing })

    expect([response.status, response.body.toString()]).toEqual([200, sha256(body)])
    expect(upstream.accepted()).toBe(3)
  })
})
