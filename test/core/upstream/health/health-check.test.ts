import { createServer, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { HealthCheckConfig } from '../../../../src/core/config/config.ts'
import type { ProbeResult } from '../../../../src/core/upstream/health/endpoint-health.ts'
import { probeEndpoint, startHealthCheck } from '../../../../src/core/upstream/health/health-check.ts'
import { createConnector } from '../../../../src/core/upstream/http1/connector.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const config: HealthCheckConfig = {
  path: '/health',
  interval: 5000,
  timeout: 2000,
  expect: { from: 200, to: 299 },
  healthyAfter: 2,
  unhealthyAfter: 3,
}

const middle = (): number => 0.5

/** What a probe does: succeeds, fails for a reason, takes so many ms and succeeds, or never ends. */
type Reply = 'well' | 'never' | number | Error

const bad = (reason = 'connection refused'): Error => new Error(reason)

describe('an endpoint that is probed', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  /** Probes by a script, whose last line holds for ever; returns when it was probed and what was reported. */
  const startScript = (replies: readonly Reply[], more: Partial<HealthCheckConfig> = {}, random = middle) => {
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

  test.each([
    [0, 5000, 1],
    [0.5, 5000, 500],
    [0.9999, 5000, 1000],
    [0.9999, 100, 100],
  ])(
    'is probed first at a moment by chance: %f with an interval of %i ms is after %i ms',
    async (chance, interval, ms) => {
      const { probedAt } = startScript(['never'], { interval }, () => chance)

      await vi.advanceTimersByTimeAsync(2000)

      expect(probedAt).toEqual([ms])
    },
  )

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
    const { probes, reported } = startScript([120, bad('answered 503, 200-299 is expected'), 'never'])

    await vi.advanceTimersByTimeAsync(60_000)

    expect(probes).toEqual([
      { at: at + 620, latencyMs: 120, status: 204, reason: null },
      { at: at + 5620, latencyMs: 0, status: null, reason: 'answered 503, 200-299 is expected' },
    ])
    expect(reported).toEqual([])
  })

  test.each<[string, readonly Reply[], readonly string[]]>([
    ['stays up while it goes well', ['well'], []],
    ['stays up after less failures than it takes', [bad(), bad(), 'well'], []],
    ['counts failures in a row only', [bad(), bad(), 'well', bad(), bad(), 'well'], []],
    [
      'is down after as many as it takes, and reported once, with the last reason',
      [bad('a'), bad('b'), bad('c'), bad('d')],
      ['down: c'],
    ],
    [
      'stays down after less successes than it takes',
      [bad(), bad(), bad('c'), 'well', bad('d'), 'well', bad('e')],
      ['down: c'],
    ],
    ['is up after as many as it takes, and reported once', [bad(), bad(), bad('c'), 'well'], ['down: c', 'up']],
    ['goes down again', [bad(), bad(), bad('c'), 'well', 'well', bad(), bad(), bad('h')], ['down: c', 'up', 'down: h']],
  ])('%s', async (_, replies, expected) => {
    const { reported } = startScript(replies)

    await vi.advanceTimersByTimeAsync(60_000)

    expect(reported).toEqual(expected)
  })

  test('takes as many in a row as configured', async () => {
    const { reported } = startScript([bad('a'), 'well', bad('c'), 'well', 'never'], {
      healthyAfter: 1,
      unhealthyAfter: 1,
    })

    await vi.advanceTimersByTimeAsync(60_000)

    expect(reported).toEqual(['down: a', 'up', 'down: c', 'up'])
  })

  test('is probed no more when that is over, and leaves no timer', async () => {
    const { stop, probedAt } = startScript(['well'])
    await vi.advanceTimersByTimeAsync(1000)

    stop()
    await vi.advanceTimersByTimeAsync(60_000)

    expect(probedAt).toEqual([500])
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each<[string, number]>([
    ['before the first probe', 0],
    ['during a probe', 600],
  ])('has nothing reported when that is over %s', async (_, ms) => {
    const { stop, reported, probes } = startScript([300], { unhealthyAfter: 1 })
    await vi.advanceTimersByTimeAsync(ms)

    stop()
    await vi.advanceTimersByTimeAsync(60_000)

    expect({ reported, probes }).toEqual({ reported: [], probes: [] })
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('an endpoint that dies goes down, and comes up when it is back', async () => {
  const port = await freePort()
  const open = async (): Promise<() => Promise<void>> => {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {}).once('data', () => socket.end('HTTP/1.1 204 Well\r\n\r\n'))
    })
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    const close = (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      })
    onTestFinished(close)
    return close
  }
  const reported: string[] = []
  const probes: ProbeResult[] = []
  const close = await open()
  const { tls } = upstreamConfig('http://unused.invalid')
  const fast = { ...config, interval: 20, timeout: 1000 }
  const host = `127.0.0.1:${port}`
  const connect = createConnector(`http://${host}`, tls, null)()
  const stop = startHealthCheck(fast, () => probeEndpoint(connect, host, fast), {
    onProbe: (probe) => void probes.push(probe),
    onUp: () => void reported.push('up'),
    onDown: (reason) => void reported.push(`down: ${reason}`),
  })
  onTestFinished(stop)
  await expect.poll(() => probes.some(({ reason }) => reason === null)).toBe(true)

  await close()
  await expect.poll(() => reported).toEqual([expect.stringMatching(/^down: the endpoint (refuses|reset|closed) /)])
  await open()

  await expect.poll(() => reported.at(-1)).toBe('up')
  expect(reported).toHaveLength(2)
})
