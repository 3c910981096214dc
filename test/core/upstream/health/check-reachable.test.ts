import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished } from 'vitest'
import type { HealthCheckConfig, UpstreamConfig } from '../../../../src/core/config/config.ts'
import { checkReachable } from '../../../../src/core/upstream/health/preflight.ts'
import { type Certificates, makeCertificates, type Pair } from '../../../helpers/certificates.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { needProgram } from '../../../helpers/program.ts'
import { describeTests, part, test, testAndDrill } from '../../../helpers/speed.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const openssl = await needProgram('openssl')

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

  test('goes to a name as well', async () => {
    const { port } = await silent()

    expect(await check(`http://localhost:${port}`, 'connect')).toBeNull()
  })

  test.each<[string, () => Promise<string>, string | RegExp]>([
    ['refuses', async () => `http://127.0.0.1:${await freePort()}`, 'the endpoint refuses connections (ECONNREFUSED)'],
    [
      'refuses under a name',
      async () => `http://localhost:${await freePort()}`,
      'the endpoint refuses connections (ECONNREFUSED)',
    ],
    [
      'refuses under IPv6',
      async () => `http://[::1]:${await freePort()}`,
      /^(the endpoint refuses connections|there is no route to the endpoint) /,
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

  testAndDrill.each(
    part([
      [120, 'no answer within 120ms'],
      [60_000, 'no answer within 2s'],
      [null, 'no answer within 2s'],
    ]),
  )('gives up after the time to connect, %s ms, or 2 s, and leaves nothing', async (connectTimeoutMs, reason) => {
    const { port, connections } = await silent()

    expect(
      await check(`https://127.0.0.1:${port}`, 'connect', {
        timeouts: { connect: connectTimeoutMs, headers: null, body: null },
      }),
    ).toBe(reason)
    await expect.poll(connections).toBe(0)
  })
})

describeTests('health', () => {
  test('sends the request of the health check, with the Host of the upstream', async () => {
    const { url, requests } = await httpUpstream()

    expect(await check(url, 'health', { healthCheck, host: { name: 'market.internal' } })).toBeNull()
    expect(requests.map(({ method, url: target }) => `${method} ${target}`)).toEqual(['GET /health'])
    expect(requests[0]?.rawHeaders).toContain('market.internal')
  })

  test('describes what is wrong with the response', async () => {
    const { url } = await httpUpstream((_, response) => void response.writeHead(503).end())

    expect(await check(url, 'health', { healthCheck })).toBe('answered 503, 200-299 is expected')
  })

  test('counts a connection as reachable where there is no health check', async () => {
    const { url } = await silent()

    expect(await check(url, 'health')).toBeNull()
  })

  test('gives up after 2 s, however long the check may take', async () => {
    const { url, connections } = await silent()

    expect(await check(url, 'health', { healthCheck })).toBe('no answer within 2s')
    await expect.poll(connections).toBe(0)
  })
})

describeTests.skipIf(openssl.missing !== null)('over TLS', () => {
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

  test.each<[string, (certificates: Certificates) => Pair, string | null]>([
    ['is right', ({ right }) => right, null],
    ['has expired', ({ expired }) => expired, 'the certificate of the endpoint has expired (CERT_HAS_EXPIRED)'],
    ['is for another name', ({ wrongName }) => wrongName, 'the certificate of the endpoint is for another name'],
    [
      'is signed by itself',
      ({ selfSigned }) => selfSigned,
      'the certificate of the endpoint is of an unknown authority',
    ],
  ])('a certificate that %s', async (_, pick, reason) => {
    const { tls } = upstreamConfig('http://unused.invalid')
    const origin = await serveTls(pick(certificates))

    expect(await check(origin, 'connect', { tls: { ...tls, ca: certificates.authority.cert } })).toBe(reason)
    const probed = await check(origin, 'health', { tls: { ...tls, ca: certificates.authority.cert }, healthCheck })
    expect(probed).toBe(reason ?? 'the endpoint closed the connection') // it sends no response
  })

  describeTests('an endpoint that asks for a client certificate', () => {
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

    test('of an authority, and is shown another, is described so', async () => {
      expect(await connectTo({}, certificates.selfSigned)).toBe('the endpoint breaks off the TLS handshake')
    })

    test('is reached with one that it accepts', async () => {
      expect(await connectTo({}, certificates.right)).toBeNull()
    })

    test('is reached without one where it demands none', async () => {
      expect(await connectTo({ rejectUnauthorized: false }, null)).toBeNull()
    })
  })

  test('an endpoint that speaks none is described so', async () => {
    const { port } = await rawUpstream((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\n\r\n')))

    expect(await check(`https://127.0.0.1:${port}`, 'connect')).toBe('the endpoint speaks no TLS')
  })
})
