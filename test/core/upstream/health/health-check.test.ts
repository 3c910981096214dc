import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { HealthCheckConfig } from '../../../../src/core/config/config.ts'
import type { ProbeResult } from '../../../../src/core/upstream/health/endpoint-health.ts'
import { probeEndpoint, startHealthCheck } from '../../../../src/core/upstream/health/health-check.ts'
import { createConnector } from '../../../../src/core/upstream/http1/connector.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const config: HealthCheckConfig = {
  ...{ path: '/health', interval: 5000, timeout: 2000, expect: { from: 200, to: 299 } },
  ...{ healthyAfter: 2, unhealthyAfter: 3 },
}

/** What a probe does: succeeds, fails for a reason, takes so many ms and succeeds, or never ends. */
type Reply = 'well' | 'never' | number | Error

const bad = (reason = 'connection refused'): Error => new Error(reason)

describe('an endpoint that is probed', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** Probes by a script, whose last line holds for ever; returns when it was probed and what was reported. */
  const startScript = (replies: readonly Reply[], more: Partial<HealthCheckConfig> = {}, random = () => 0.5) => {
    const startedAt = performance.now()
    const probedAt: number[] = []
    const reported: string[] = []
    const probes: ProbeResult[] = []
    const probe = async (): Promise<number> => {
      const reply = replies[Math.min(probedAt.length, replies.length - 1)]
      probedAt.push(performance.now() - startedAt)
      if (reply === 'never') return new Promise(() => {})
      if (typeof reply === 'number') return new Promise((resolve) => setTimeout(() => resolve(204), reply))
      if (reply instanceof Error) throw reply
      return 204
    }
    const report = {
      onProbe: (probe: ProbeResult) => void probes.push(probe),
      onUp: () => void reported.push('up'),
      onDown: (reason: string) => void reported.push(`down: ${reason}`),
    }
    const stop = startHealthCheck({ ...config, ...more }, probe, report, random)
    onTestFinished(stop)
    return { stop, probedAt, reported, probes }
  }

  test('is probed first at a moment by chance, within an interval and a second', async () => {
    const firsts = [
      [0, 5000],
      [0.5, 5000],
      [0.9999, 5000],
      [0.9999, 100],
    ] as const
    const started = firsts.map(([chance, interval]) => startScript(['never'], { interval }, () => chance))

    await vi.advanceTimersByTimeAsync(2000)

    expect(started.map(({ probedAt }) => probedAt)).toEqual([[1], [500], [1000], [100]])
  })

  test('is probed again an interval after the end of the last probe', async () => {
    const { probedAt } = startScript([1500, 'well', 700, 'never'])

    await vi.advanceTimersByTimeAsync(60_000)

    expect(probedAt).toEqual([500, 7000, 12_000, 17_700])
  })

  test('is probed a little earlier or later, by a tenth at most', async () => {
    const { probedAt } = startScript(['well'], {}, Math.random)

    await vi.advanceTimersByTimeAsync(500_000)

    const waits = probedAt.slice(1).map((each, nth) => each - (probedAt[nth] ?? 0))
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(4500)
    expect(Math.max(...waits)).toBeLessThanOrEqual(5501)
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(250)
  })

  test('has every probe reported, with how long it took', async () => {
    const at = Date.now()
    const { probes, reported } = startScript([120, bad('responded with 503, 200-299 is expected'), 'never'])

    await vi.advanceTimersByTimeAsync(60_000)

    expect(probes).toEqual([
      { at: at + 620, latencyMs: 120, status: 204, reason: null },
      { at: at + 5620, latencyMs: 0, status: null, reason: 'responded with 503, 200-299 is expected' },
    ])
    expect(reported).toEqual([])
  })

  const once = { healthyAfter: 1, unhealthyAfter: 1 }

  test.each<[string, readonly Reply[], readonly string[], Partial<HealthCheckConfig>?]>([
    ['stays up while it goes well', ['well'], []],
    ['stays up after less failures than it takes', [bad(), bad(), 'well'], []],
    ['counts failures in a row only', [bad(), bad(), 'well', bad(), bad(), 'well'], []],
    ['is down after as many as it takes, by the last', [bad('a'), bad('b'), bad('c'), bad('d')], ['down: c']],
    ['stays down', [bad(), bad(), bad('c'), 'well', bad('d'), 'well', bad('e')], ['down: c']],
    ['is up after as many as it takes', [bad(), bad(), bad('c'), 'well'], ['down: c', 'up']],
    ['goes down again', [bad(), bad(), bad('c'), 'well', 'well', bad(), bad(), bad('h')], ['down: c', 'up', 'down: h']],
    ['takes one', [bad('a'), 'well', bad('c'), 'well', 'never'], ['down: a', 'up', 'down: c', 'up'], once],
  ])('%s, and that is reported once', async (_, replies, expected, more) => {
    const { reported } = startScript(replies, more)

    await vi.advanceTimersByTimeAsync(60_000)

    expect(reported).toEqual(expected)
  })

  test.each<[string, Reply, number, number]>([
    ['after a probe', 'well', 1000, 1],
    ['before the first probe', 300, 0, 0],
    ['during a probe', 300, 600, 1],
  ])(
    'is probed no more when that is over %s, nothing more is reported, and no timer is left',
    async (_, reply, ms, times) => {
      const { stop, reported, probes, probedAt } = startScript([reply], { unhealthyAfter: 1 })
      await vi.advanceTimersByTimeAsync(ms)
      const before = probes.length

      stop()
      await vi.advanceTimersByTimeAsync(60_000)

      expect([probedAt.length, probes.length - before, reported.length, vi.getTimerCount()]).toEqual([times, 0, 0, 0])
    },
  )
})

describe('probing', () => {
  const { tls } = upstreamConfig('http://unused.invalid')

  const check: HealthCheckConfig = { ...config, path: '/health?deep=1', timeout: 3000 }

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
      const fields = [
        'Host',
        `127.0.0.1:${port}`,
        'Connection',
        'close',
        'User-Agent',
        'lender-gateway',
        'Accept',
        '*/*',
      ]
      expect(requests[0]?.rawHeaders.toSorted()).toEqual(fields.sort())
      await expect.poll(connections).toBe(0)
    })

    test.each([
      [200, { from: 200, to: 299 }, null],
      [299, { from: 200, to: 299 }, null],
      [503, { from: 200, to: 299 }, 'responded with 503, 200-299 is expected'],
      [500, { from: 204, to: 204 }, 'responded with 500, 204 is expected'],
      [200, { from: 204, to: 204 }, 'responded with 200, 204 is expected'],
      [404, { from: 200, to: 499 }, null],
      [401, { from: 401, to: 401 }, null],
    ])('of an endpoint that responds %i where %o is expected: %s', async (status, range, reason) => {
      const { port } = await httpUpstream((_, response) => void response.writeHead(status).end('well'))

      expect(await probe(port, { expect: range })).toBe(reason)
    })

    test('waits for the final response after an interim one', async () => {
      const { port } = await responding('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n')

      expect(await probe(port)).toBe('responded with 503, 200-299 is expected')
    })

    test.each<[string, (socket: Socket) => void, string]>([
      ['resets', (socket) => socket.resetAndDestroy(), 'the endpoint reset the connection (ECONNRESET)'],
      ['closes', (socket) => socket.end(), 'the endpoint closed the connection'],
      ['speaks SSH', (socket) => socket.end('SSH-2.0-A\r\n'), 'the endpoint sent a response that is not HTTP'],
      ['has no status', (socket) => socket.end('HTTP/1.1 OK\r\n\r\n'), 'the endpoint sent a response that is not HTTP'],
      [
        'has large fields',
        (socket) => socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(1 << 20)}\r\n\r\n`),
        'the response has too many header fields, or too large ones',
      ],
    ])('of an endpoint that %s says so', async (_, act, reason) => {
      const { port } = await rawUpstream((socket) => onRequest(socket, () => act(socket)))

      expect(await probe(port)).toBe(reason)
    })
  })

  describe('a probe that takes too long', () => {
    const dripping = (head: string, drop: string) => (socket: Socket) => {
      socket.write(head)
      const drip = setInterval(() => socket.write(drop), 10)
      socket.on('close', () => clearInterval(drip))
    }

    test.each<[string, string, (socket: Socket) => void]>([
      // TLS gets no response
      ['the connection is still being made', 'https', (socket) => socket.resume().on('end', () => socket.end())],
      ['the head drips, however steadily', 'http', dripping('HTTP/1.1 200 OK\r\n', 'X: y\r\n')],
    ])('is over while %s, and leaves no connection', async (_, scheme, act) => {
      const { port, connections } = await rawUpstream(act)

      expect(await probe(port, { timeout: 120 }, null, scheme)).toBe('no response within 120ms')
      await expect.poll(connections).toBe(0)
    })

    test('does not keep its status from deciding, nor its connection open for ever, when its body drips', async () => {
      const drip = dripping('HTTP/1.1 500 No\r\n\r\n', 'x')
      const { port, connections } = await rawUpstream((socket) => onRequest(socket, () => drip(socket)))

      expect(await probe(port, { timeout: 400 })).toBe('responded with 500, 200-299 is expected')
      expect(connections()).toBe(1)
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
  })
})
