import { createServer } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { UpstreamConfig } from '../../../../src/core/config/config.ts'
import { NoResponseError } from '../../../../src/core/lib/try.ts'
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
import { listen } from '../../../helpers/listen.ts'
import { needProgram } from '../../../helpers/program.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const openssl = await needProgram('openssl')

const stopClock = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
}

type Reach = () => Promise<void>

const reachable: Reach = () => Promise.resolve()
const never: Reach = () => new Promise<void>(() => {})
const refused = 'connection refused'
const unreachable: Reach = () => Promise.reject(new Error(refused))
const within =
  (ms: number, error?: Error): Reach =>
  () =>
    new Promise<void>((resolve, reject) => setTimeout(() => (error === undefined ? resolve() : reject(error)), ms))

const target = (group: Group, name: string, reach: Reach, side: Side = 'primary'): PreflightTarget => ({
  ...{ group, side, name, reach },
})

describe('which upstreams are unreachable', () => {
  beforeEach(stopClock)

  test('those of which no endpoint is reachable are listed, with every reason, candidates apart from primaries', async () => {
    const noRoute: Reach = () => Promise.reject(new Error('no route to it'))
    const tried = [
      target('market', 'a', unreachable),
      target('risk', 'c', unreachable),
      target('risk', 'd', reachable),
      target('market', 'b', noRoute),
      target('leads', 'e', reachable),
      target('leads', 'e', unreachable, 'candidate'),
    ]

    expect(await findUnreachableUpstreams(tried)).toEqual([
      {
        ...{ group: 'market', side: 'primary' },
        endpoints: [
          { name: 'a', reason: refused },
          { name: 'b', reason: 'no route to it' },
        ],
      },
      { group: 'leads', side: 'candidate', endpoints: [{ name: 'e', reason: refused }] },
    ])
  })

  test('without targets nothing is listed, and there is no wait', async () => {
    expect(await findUnreachableUpstreams([])).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('all are checked at once, and one that has not responded after 2 s has failed', async () => {
    const over = vi.fn()
    const started: string[] = []
    const recording = (name: string, reach: Reach) =>
      target('market', name, () => {
        started.push(name)
        return reach()
      })
    const result = findUnreachableUpstreams([
      ...[recording('a', never), recording('b', within(2500)), recording('c', unreachable)],
      recording('d', within(3000, new Error('late'))),
    ])
    void result.then(over)
    const atOnce = [...started]

    await vi.advanceTimersByTimeAsync(1900)
    const early = over.mock.calls.length
    await vi.advanceTimersByTimeAsync(100)
    const inTime = over.mock.calls.length
    await vi.advanceTimersByTimeAsync(2000)

    expect([atOnce, early, inTime]).toEqual([['a', 'b', 'c', 'd'], 0, 1])
    const silent = 'no response within 2s'
    expect((await result)[0]?.endpoints.map(({ reason }) => reason)).toEqual([silent, silent, refused, silent])
  })

  test.each<[string, Reach, number]>([
    ['reachable: no more are', reachable, 4],
    ['not reachable: all are', unreachable, 50],
    ['silent: all are, once they had a head start', never, 50],
  ])('of fifty endpoints a few are tried first, and when they are %s', async (_, firstFew, count) => {
    let started = 0
    const all = Array.from({ length: 50 }, (_, nth) =>
      target('market', String(nth), () => {
        started++
        return nth < 4 ? firstFew() : reachable()
      }),
    )
    const result = findUnreachableUpstreams(all)

    await vi.advanceTimersByTimeAsync(200)

    expect(await result).toEqual([])
    expect(started).toBe(count)
  })
})

/** On a busy machine the event loop stands still for longer than an endpoint has. */
describe('a standstill of the process', () => {
  /** Has time pass in which nothing can be read. */
  const standStill = (): void => void vi.advanceTimersByTime(2200)

  beforeEach(stopClock)

  test('is no time that an endpoint had to respond', async () => {
    const reach = vi.fn(async () => {
      for (let n = 0; n < 5; n++) await new Promise(setImmediate)
    })
    const checked = checkAll([target('risk', 'a', reach)])
    standStill()

    expect(await checked).toMatchObject([{ reason: null }])
    expect(reach).toHaveBeenCalledTimes(1)
  })

  test('does not hide an endpoint that listens, though it stands still while it connects', async () => {
    const upstream = upstreamConfig(`http://127.0.0.1:${await listen(createServer())}`)
    const [endpoint] = upstream.endpoints as readonly [UpstreamConfig['endpoints'][number]]
    const checked = checkAll([toPreflightTarget({ group: 'risk', side: 'primary', endpoint, upstream }, 'connect')])
    standStill()

    expect(await checked).toMatchObject([{ reason: null }])
  })

  test('gives one that is silent another try, and not one that says no, whatever it says', async () => {
    const silent = new NoResponseError(2000)
    const saysSo = new Error('no response within 2s')
    const failing = (first: Error, then: Error | null) => {
      const reach = vi.fn(() => (then === null ? Promise.resolve() : Promise.reject(then)))
      return reach.mockRejectedValueOnce(first)
    }
    const all = [failing(silent, null), failing(silent, silent), failing(saysSo, null)]

    const results = await checkAll(all.map((reach) => target('risk', 'a', reach)))

    expect(results.map(({ reason }) => reason)).toEqual([null, saysSo.message, saysSo.message])
    expect(all.map(({ mock }) => mock.calls.length)).toEqual([2, 2, 1])
  })
})

describe('one endpoint', () => {
  const healthCheck = {
    ...{ path: '/health', interval: 5000, timeout: 60_000, expect: { from: 200, to: 299 } },
    ...{ healthyAfter: 2, unhealthyAfter: 3 },
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

  test('is reachable by a connection on which nothing is sent, and which is closed', async () => {
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

  test('is described when it refuses, or has no address', async () => {
    const refusing = `http://127.0.0.1:${await freePort()}`

    expect(await check(refusing, 'connect')).toBe('the endpoint refuses connections (ECONNREFUSED)')
    expect(await check('http://nowhere.invalid', 'connect')).toMatch(
      /^the name (of the endpoint does not resolve|server does not reply) /,
    )
  })

  test.each<[string, number | null, string, 'connect' | 'health']>([
    ['the time to connect', 120, 'no response within 120ms', 'connect'],
    ['2 s, however long it may take to connect', 60_000, 'no response within 2s', 'connect'],
    ['2 s where nothing else is said', null, 'no response within 2s', 'connect'],
    ['2 s, however long a health check may take', null, 'no response within 2s', 'health'],
  ])('has %s, and leaves nothing', async (_, connect, reason, mode) => {
    const { port, connections } = await silent()
    const scheme = mode === 'connect' ? 'https' : 'http'
    const more = { timeouts: { connect, headers: null, body: null }, healthCheck }

    expect(await afterTwoSeconds(() => check(`${scheme}://127.0.0.1:${port}`, mode, more))).toBe(reason)
    await expect.poll(connections).toBe(0)
  })

  test('gets the request of the health check, with the Host of the upstream', async () => {
    const { url, requests } = await httpUpstream()

    expect(await check(url, 'health', { healthCheck, host: { name: 'market.internal' } })).toBeNull()
    expect(requests.map(({ method, url: target }) => `${method} ${target}`)).toEqual(['GET /health'])
    expect(requests[0]?.rawHeaders).toContain('market.internal')
  })

  test('is reachable by a connection where there is no health check', async () => {
    expect(await check((await silent()).url, 'health')).toBeNull()
  })

  test('is described when it speaks no TLS', async () => {
    const { port } = await rawUpstream((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n')))

    expect(await check(`https://127.0.0.1:${port}`, 'connect')).toBe('the endpoint speaks no TLS')
  })

  describe.skipIf(openssl.missing !== null)('that asks for a client certificate', () => {
    let certificates: Certificates
    beforeAll(() => {
      certificates = makeCertificates(openssl.path ?? '')
    })

    const breaksOff = 'the endpoint breaks off the TLS handshake'
    const asks = 'the endpoint asks for a client certificate (tls.certificate)'

    test.each<[string, TlsOptions, (made: Certificates) => Pair | null, string | null]>([
      ['described when it is shown none', { maxVersion: 'TLSv1.2' }, () => null, breaksOff],
      ['described when it is shown none, in TLS 1.3', { maxVersion: 'TLSv1.3' }, () => null, asks],
      ['reached with one that it accepts', {}, ({ right }) => right, null],
    ])('is %s', async (_, options, shown, expected) => {
      const { authority, right } = certificates
      const ca = authority.cert
      const server = createTlsServer({ ...right, ca, requestCert: true, ...options }, (socket) =>
        socket.on('error', () => {}).resume(),
      )
      server.on('tlsClientError', () => {})
      const origin = `https://localhost:${await listen(server)}`
      const { cert: certificate = null, key = null } = shown(certificates) ?? {}
      const tls = { ...upstreamConfig(origin).tls, ca, certificate, key }

      expect(await check(origin, 'connect', { tls })).toBe(expected)
    })
  })
})
