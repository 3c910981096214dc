import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { HealthCheckConfig } from '../../../../src/core/config/config.ts'
import { probeEndpoint } from '../../../../src/core/upstream/health/health-check.ts'
import { createConnector } from '../../../../src/core/upstream/http1/connector.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const { tls } = upstreamConfig('http://unused.invalid')

const check: HealthCheckConfig = {
  path: '/health?deep=1',
  interval: 5000,
  timeout: 3000,
  expect: { from: 200, to: 299 },
  healthyAfter: 2,
  unhealthyAfter: 3,
}

/** Probes a port once; null: it is healthy, else the message for operators. */
const probe = (port: number, more: Partial<HealthCheckConfig> = {}, host: string | null = null, scheme = 'http') => {
  const authority = `127.0.0.1:${port}`
  const connect = createConnector(`${scheme}://${authority}`, tls, 10_000)()
  return probeEndpoint(connect, host ?? authority, { ...check, ...more }).then(
    () => null,
    (error: Error) => error.message,
  )
}

const responding = (text: string) => rawUpstream((socket) => onRequest(socket, () => socket.end(text)))

describe('a probe', () => {
  test('is one GET with a User-Agent, and says that nothing follows', async () => {
    const { port, requests, connections } = await httpUpstream()

    const message = await probe(port)

    expect(message).toBeNull()
    expect(requests.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET /health?deep=1'])
    const [{ rawHeaders } = { rawHeaders: [] }] = requests
    expect([...rawHeaders].sort()).toEqual(
      ['Host', `127.0.0.1:${port}`, 'Connection', 'close', 'User-Agent', 'lender-gateway', 'Accept', '*/*'].sort(),
    )
    await expect.poll(connections).toBe(0)
  })

  test('is sent the Host that its upstream is sent', async () => {
    const { port, requests } = await httpUpstream()

    await probe(port, {}, 'market.internal')

    expect(requests[0]?.rawHeaders).toContain('market.internal')
  })

  test('has a connection of its own each time', async () => {
    const { port, accepted } = await httpUpstream()

    await probe(port)
    await probe(port)

    expect(accepted()).toBe(2)
  })

  test.each([
    [200, { from: 200, to: 299 }, null],
    [299, { from: 200, to: 299 }, null],
    [503, { from: 200, to: 299 }, 'answered 503, 200-299 is expected'],
    [500, { from: 204, to: 204 }, 'answered 500, 204 is expected'],
    [200, { from: 204, to: 204 }, 'answered 200, 204 is expected'],
    [404, { from: 200, to: 499 }, null],
    [401, { from: 401, to: 401 }, null],
  ])('of an endpoint that responds %i where %o is expected: %s', async (status, range, reason) => {
    const { port } = await httpUpstream((_, response) => void response.writeHead(status).end('well'))

    expect(await probe(port, { expect: range })).toBe(reason)
  })

  test('does not follow a redirect', async () => {
    const { port, begun } = await httpUpstream((_, response) => void response.writeHead(302, { location: '/ok' }).end())

    expect(await probe(port)).toBe('answered 302, 200-299 is expected')
    expect(begun()).toBe(1)
  })

  test('waits for the final response after an interim one', async () => {
    const { port } = await responding('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n')

    expect(await probe(port)).toBe('answered 503, 200-299 is expected')
  })

  test('of an endpoint that refuses connections says so', async () => {
    expect(await probe(await freePort())).toBe('the endpoint refuses connections (ECONNREFUSED)')
  })

  test('of an endpoint that resets or closes without a response says so', async () => {
    const resetting = await rawUpstream((socket) => onRequest(socket, () => socket.resetAndDestroy()))
    const closing = await rawUpstream((socket) => onRequest(socket, () => socket.end()))

    expect(await probe(resetting.port)).toBe('the endpoint reset the connection (ECONNRESET)')
    expect(await probe(closing.port)).toBe('the endpoint closed the connection')
  })

  test.each([
    ['SSH-2.0-OpenSSH_9.6\r\n', 'the endpoint answers with what is not HTTP'],
    ['HTTP/1.1 abc\r\n\r\n', 'the endpoint answers with what is not HTTP'],
    [
      `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(1 << 20)}\r\n\r\n`,
      'the header fields of the answer are too large, or too many',
    ],
  ])('of an endpoint that does not speak HTTP says so (%#)', async (text, reason) => {
    const { port } = await responding(text)

    expect(await probe(port)).toBe(reason)
  })

  test('of an endpoint that speaks no TLS where it should says so', async () => {
    const { port } = await rawUpstream((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n')))

    expect(await probe(port, {}, null, 'https')).toBe('the endpoint speaks no TLS')
  })
})

describe('a probe that takes too long', () => {
  const within120 = { timeout: 120 }

  test('is over when the endpoint accepts and says nothing, and leaves no connection', async () => {
    const { port, connections } = await rawUpstream((socket) => socket.resume().on('end', () => socket.end()))
    const startedAt = performance.now()

    const message = await probe(port, within120)

    expect(message).toBe('no answer within 120ms')
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(120)
    await expect.poll(connections).toBe(0)
  })

  test('is over while the connection is still being made, and leaves none', async () => {
    const { port, connections } = await rawUpstream((socket) => socket.resume().on('end', () => socket.end()))

    const message = await probe(port, within120, null, 'https') // TLS gets no response

    expect(message).toBe('no answer within 120ms')
    await expect.poll(connections).toBe(0)
  })

  test('is over when the head drips, however steadily', async () => {
    const { port, connections } = await rawUpstream((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const drip = setInterval(() => socket.write('X: y\r\n'), 10)
      socket.on('close', () => clearInterval(drip))
    })

    expect(await probe(port, within120)).toBe('no answer within 120ms')
    await expect.poll(connections).toBe(0)
  })
})

describe('the body of a response to a probe', () => {
  test('is read to its end when it is short', async () => {
    let ended = false
    const { port } = await rawUpstream((socket) => {
      socket.on('end', () => {
        ended = true
        socket.end()
      })
      onRequest(socket, () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n')
        setImmediate(() => socket.write('x'.repeat(40_000)))
      })
    })

    expect(await probe(port)).toBeNull()
    await expect.poll(() => ended).toBe(true) // closed, not reset
  })

  test('that has ended leaves no timer', async () => {
    const { port } = await responding('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())

    expect(await probe(port, { timeout: 3_600_000 })).toBeNull()
    await expect.poll(() => vi.getTimerCount()).toBe(0)
  })

  test('that has no end is cut after 64 KiB', async () => {
    const { port, connections } = await rawUpstream((socket) =>
      onRequest(socket, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        const fill = (): void => {
          while (socket.writable && socket.write('x'.repeat(4096)));
        }
        socket.on('drain', fill)
        fill()
      }),
    )

    expect(await probe(port, { timeout: 60_000 })).toBeNull()
    await expect.poll(connections).toBe(0)
  })

  test('that drips does not keep the status from deciding, nor its connection open for ever', async () => {
    const { port, connections } = await rawUpstream((socket) =>
      onRequest(socket, () => {
        socket.write('HTTP/1.1 500 No\r\n\r\n')
        const drip = setInterval(() => socket.write('x'), 10)
        socket.on('close', () => clearInterval(drip))
      }),
    )

    expect(await probe(port, { timeout: 1500 })).toBe('answered 500, 200-299 is expected')
    expect(connections()).toBe(1)
    await expect.poll(connections).toBe(0)
  })
})
