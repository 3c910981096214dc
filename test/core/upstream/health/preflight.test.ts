/** A busy machine: the event loop of the process that checks stands still for longer than an endpoint has. */

import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { HealthCheckConfig, UpstreamConfig } from '../../../../src/core/config/config.ts'
import { NoAnswerError } from '../../../../src/core/lib/try.ts'
import {
  checkAll,
  checkReachable,
  findUnreachableUpstreams,
  type PreflightTarget,
  toPreflightTarget,
} from '../../../../src/core/upstream/health/preflight.ts'
import type { Group, Side } from '../../../../src/operations.ts'
import { type Certificates, makeCertificates, type Pair } from '../../../helpers/certificates.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { needProgram } from '../../../helpers/program.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const openssl = await needProgram('openssl')

const stopClock = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('which upstreams are unreachable', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const reachable = () => Promise.resolve()
  const never = () => new Promise<void>(() => {})
  const unreachable =
    (reason = 'connection refused') =>
    () =>
      Promise.reject(new Error(reason))
  const within = (ms: number) => () => new Promise<void>((resolve) => setTimeout(resolve, ms))

  const target = (group: Group, name: string, reach: () => Promise<void>, side: Side = 'primary'): PreflightTarget => ({
    group,
    side,
    name,
    reach,
  })

  test('a group of which one endpoint is reachable is not listed', async () => {
    const tried = [
      target('market', 'a', unreachable()),
      target('market', 'b', reachable),
      target('risk', 'c', reachable),
    ]

    expect(await findUnreachableUpstreams(tried)).toEqual([])
  })

  test('a group of which none is reachable is listed, with every reason', async () => {
    const tried = [
      target('market', 'a', unreachable()),
      target('risk', 'c', reachable),
      target('market', 'b', unreachable('no route to it')),
      target('leads', 'd', unreachable()),
    ]

    expect(await findUnreachableUpstreams(tried)).toEqual([
      {
        group: 'market',
        side: 'primary',
        endpoints: [
          { name: 'a', reason: 'connection refused' },
          { name: 'b', reason: 'no route to it' },
        ],
      },
      { group: 'leads', side: 'primary', endpoints: [{ name: 'd', reason: 'connection refused' }] },
    ])
  })

  test('a candidate is judged apart from the primary of its group', async () => {
    const tried = [
      target('market', 'a', reachable),
      target('market', 'a', unreachable(), 'candidate'),
      target('risk', 'b', unreachable()),
      target('risk', 'c', reachable, 'candidate'),
    ]

    expect(await findUnreachableUpstreams(tried)).toMatchObject([
      { group: 'market', side: 'candidate' },
      { group: 'risk', side: 'primary' },
    ])
  })

  test('without targets nothing is listed, and there is no wait', async () => {
    expect(await findUnreachableUpstreams([])).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a failure after 2 s has no effect', async () => {
    const late = () => new Promise<void>((_, reject) => setTimeout(() => reject(new Error('late')), 3000))
    const result = findUnreachableUpstreams([target('market', 'a', late)])

    await vi.advanceTimersByTimeAsync(4000)

    expect((await result)[0]?.endpoints).toEqual([{ name: 'a', reason: 'no answer within 2s' }])
  })

  test('all are checked at once, and one that has not responded after 2 s has failed', async () => {
    let over = false
    const started: string[] = []
    const recording = (name: string, reach: () => Promise<void>) =>
      target('market', name, () => {
        started.push(name)
        return reach()
      })
    const result = findUnreachableUpstreams([
      recording('a', never),
      recording('b', within(2500)),
      recording('c', unreachable()),
    ])
    void result.then(() => {
      over = true
    })
    const atOnce = [...started]

    await vi.advanceTimersByTimeAsync(1900)
    const early = over
    await vi.advanceTimersByTimeAsync(100)

    expect(atOnce).toEqual(['a', 'b', 'c'])
    expect(early).toBe(false)
    expect(over).toBe(true)
    expect(await result).toEqual([
      {
        group: 'market',
        side: 'primary',
        endpoints: [
          { name: 'a', reason: 'no answer within 2s' },
          { name: 'b', reason: 'no answer within 2s' },
          { name: 'c', reason: 'connection refused' },
        ],
      },
    ])
  })

  test.each<[string, () => Promise<void>, number]>([
    ['reachable: no more are', reachable, 4],
    ['not reachable: all are', unreachable(), 50],
    ['silent: all are, once they had a head start', never, 50],
  ])('of fifty endpoints a few are tried first, and when they are %s', async (_, firstFew, count) => {
    let started = 0
    const reach = (nth: number) => () => {
      started++
      return nth < 4 ? firstFew() : reachable()
    }
    const result = findUnreachableUpstreams(
      Array.from({ length: 50 }, (_, nth) => target('market', String(nth), reach(nth))),
    )

    await vi.advanceTimersByTimeAsync(200)

    expect(await result).toEqual([])
    expect(started).toBe(count)
  })
})

describe('a standstill', () => {
  /** Has time pass in which nothing can be read. */
  const standStill = (ms: number): void => void vi.advanceTimersByTime(ms)

  beforeEach(stopClock)

  const target = (reach: () => Promise<void>) => ({ group: 'risk', side: 'primary', name: 'a', reach }) as const

  test('a standstill of the process is no time that an endpoint had to answer', async () => {
    let tries = 0
    const checked = checkAll([
      target(async () => {
        tries++
        for (let n = 0; n < 5; n++) await new Promise(setImmediate)
      }),
    ])
    standStill(2200)

    expect(await checked).toMatchObject([{ reason: null }])
    expect(tries).toBe(1)
  })

  test('an endpoint that listens is reached, though the process stands still while it connects', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const upstream = upstreamConfig([origin])
    const [endpoint] = upstream.endpoints
    if (endpoint === undefined) throw new Error('there is no endpoint')
    const checked = checkAll([toPreflightTarget({ group: 'risk', side: 'primary', endpoint, upstream }, 'connect')])
    standStill(2200)

    expect(await checked).toMatchObject([{ reason: null }])
  })

  test('one that is silent is tried once more, and one that says no is not, whatever it says', async () => {
    const tries: string[] = []
    const failing = (error: Error, then: Error | null) => {
      let isFirst = true
      return target(async () => {
        const why = isFirst ? error : then
        isFirst = false
        tries.push(`${why}`)
        if (why !== null) throw why
      })
    }
    const silent = new NoAnswerError(2000)
    const results = await checkAll([
      failing(silent, null),
      failing(silent, silent),
      failing(new Error('no answer within 2s'), null),
    ])

    expect(results.map(({ reason }) => reason)).toEqual([null, 'no answer within 2s', 'no answer within 2s'])
    expect(tries).toHaveLength(5)
  })
})

describe('one endpoint', () => {
  const healthCheck: HealthCheckConfig = {
    path: '/health',
    interval: 5000,
    timeout: 60_000,
    expect: { from: 200, to: 299 },
    healthyAfter: 2,
    unhealthyAfter: 3,
  }

  /** Checks an origin; null: it is reachable, else the message for operators. */
  const check = (origin: string, mode: 'connect' | 'health', more: Partial<UpstreamConfig> = {}) =>
    checkReachable(origin, upstreamConfig(origin, more), mode).then(
      () => null,
      (error: Error) => error.message,
    )

  /** Opens an endpoint that accepts and sends nothing. */
  const silent = () => rawUpstream((socket) => socket.resume().on('end', () => socket.end()))

  /** Has two seconds pass, in which the event loop turns. */
  const afterTwoSeconds = async <T>(begin: () => Promise<T>): Promise<T> => {
    stopClock()
    const begun = begin()
    for (let ms = 0; ms <= 2000; ms += 50) {
      await new Promise(setImmediate)
      vi.advanceTimersByTime(50)
    }
    vi.useRealTimers()
    return begun
  }

  describe('connect', () => {
    test('counts a connection as reachable, sends nothing, and closes it', async () => {
      let received = 0
      const { url, accepted, connections } = await rawUpstream((socket) => {
        socket.on('data', ({ length }) => {
          received += length
        })
        socket.on('end', () => socket.end())
      })

      expect(await check(url, 'connect')).toBeNull()
      await expect.poll(() => [accepted(), connections(), received]).toEqual([1, 0, 0])
    })

    test.each<[string, () => Promise<string>, string | RegExp]>([
      [
        'refuses',
        async () => `http://127.0.0.1:${await freePort()}`,
        'the endpoint refuses connections (ECONNREFUSED)',
      ],
      [
        'has no address',
        async () => 'http://nowhere.invalid',
        /^the name (of the endpoint does not resolve|server does not answer) /,
      ],
    ])('describes an endpoint that %s', async (_, origin, reason) => {
      const message = await check(await origin(), 'connect')

      expect(message).toEqual(typeof reason === 'string' ? reason : expect.stringMatching(reason))
    })

    test.each([
      [120, 'no answer within 120ms'],
      [60_000, 'no answer within 2s'],
      [null, 'no answer within 2s'],
    ])('gives up after the time to connect, %s ms, or 2 s, and leaves nothing', async (connectTimeoutMs, reason) => {
      const { port, connections } = await silent()
      const timeouts = { connect: connectTimeoutMs, headers: null, body: null }

      expect(await afterTwoSeconds(() => check(`https://127.0.0.1:${port}`, 'connect', { timeouts }))).toBe(reason)
      await expect.poll(connections).toBe(0)
    })
  })

  describe('health', () => {
    test('sends the request of the health check, with the Host of the upstream', async () => {
      const { url, requests } = await httpUpstream()

      expect(await check(url, 'health', { healthCheck, host: { name: 'market.internal' } })).toBeNull()
      expect(requests.map(({ method, url: target }) => `${method} ${target}`)).toEqual(['GET /health'])
      expect(requests[0]?.rawHeaders).toContain('market.internal')
    })

    test('counts a connection as reachable where there is no health check', async () => {
      const { url } = await silent()

      expect(await check(url, 'health')).toBeNull()
    })

    test('gives up after 2 s, however long the check may take', async () => {
      const { url, connections } = await silent()

      expect(await afterTwoSeconds(() => check(url, 'health', { healthCheck }))).toBe('no answer within 2s')
      await expect.poll(connections).toBe(0)
    })
  })

  describe.skipIf(openssl.missing !== null)('over TLS', () => {
    let certificates: Certificates
    beforeAll(() => {
      certificates = makeCertificates(openssl.path ?? '')
    })

    const serveTls = async ({ key, cert }: Pair, options: TlsOptions = {}, stays = false): Promise<string> => {
      const server = createTlsServer({ key, cert, ...options }, (socket) => {
        socket.on('error', () => {}).resume()
        if (!stays) socket.end()
      })
      server.on('tlsClientError', () => {})
      await once(server.listen(0, '127.0.0.1'), 'listening')
      onTestFinished(() => void server.close())
      return `https://localhost:${(server.address() as AddressInfo).port}`
    }

    describe('an endpoint that asks for a client certificate', () => {
      const connectTo = async (options: TlsOptions, shown: Pair | null) => {
        const ca = certificates.authority.cert
        const origin = await serveTls(certificates.right, { requestCert: true, ca, ...options }, true)
        const { tls } = upstreamConfig('http://unused.invalid')
        const { cert: certificate = null, key = null } = shown ?? {}
        return check(origin, 'connect', { tls: { ...tls, ca, certificate, key } })
      }

      test.each([
        ['TLSv1.2', 'the endpoint breaks off the TLS handshake'],
        ['TLSv1.3', 'the endpoint asks for a client certificate (tls.certificate)'],
      ] as const)('and is shown none is described so: %s', async (maxVersion, reason) => {
        expect(await connectTo({ maxVersion }, null)).toBe(reason)
      })

      test('is reached with one that it accepts', async () => {
        expect(await connectTo({}, certificates.right)).toBeNull()
      })
    })

    test('an endpoint that speaks none is described so', async () => {
      const { port } = await rawUpstream((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n')))

      expect(await check(`https://127.0.0.1:${port}`, 'connect')).toBe('the endpoint speaks no TLS')
    })
  })
})
