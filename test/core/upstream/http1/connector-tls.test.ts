import { syncBuiltinESMExports } from 'node:module'
import type { LookupFunction } from 'node:net'
import tls, { createServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { UpstreamTlsConfig } from '../../../../src/core/config/config.ts'
import { getNegotiatedGroup } from '../../../../src/core/downstream/tls/tls-acceptor.ts'
import type { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import {
  EndpointCertificates,
  getEndpointCertificates,
} from '../../../../src/core/upstream/endpoints/endpoint-certificates.ts'
import { checkReachable } from '../../../../src/core/upstream/health/preflight.ts'
import { type Connector, createConnector } from '../../../../src/core/upstream/http1/connector.ts'
import { type Certificates, makeCertificates, type Pair } from '../../../helpers/certificates.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { listen } from '../../../helpers/listen.ts'
import { needProgram } from '../../../helpers/program.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const openssl = await needProgram('openssl')

const { tls: ordinary } = upstreamConfig('http://unused.invalid')

test('the authorities are read once for all endpoints of a group, and again for other settings', async () => {
  const read = vi.spyOn(tls, 'createSecureContext')
  syncBuiltinESMExports()
  onTestFinished(() => {
    read.mockRestore()
    syncBuiltinESMExports()
  })
  const origin = `https://127.0.0.1:${await freePort()}`
  const upstream = upstreamConfig(origin)
  const countFailures = async (times: number, as: typeof upstream) => {
    const all = Array.from({ length: times }, () => checkReachable(origin, as, 'connect'))
    return (await Promise.allSettled(all)).filter(({ status }) => status === 'rejected').length
  }

  const failed = await countFailures(256, upstream)
  const once = read.mock.calls.length
  await countFailures(2, { ...upstream, tls: { ...upstream.tls, minVersion: 'TLSv1.3' } })

  expect(failed).toBe(256)
  expect([once, read.mock.calls.length]).toEqual([1, 2])
})

describe.skipIf(openssl.missing !== null)('a TLS connection', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  /** Opens a TLS server that sends a hello for a hello; it remembers their sockets. */
  const serveTls = async ({ key, cert }: Pair, options: TlsOptions = {}) => {
    const clients: TLSSocket[] = []
    const server = createServer({ key, cert, ...options }, (socket) => {
      clients.push(socket)
      socket.on('error', () => {})
      socket.on('data', () => socket.write('hello'))
    })
    server.on('tlsClientError', () => {})
    return { port: await listen(server), clients, server }
  }

  /** Creates the connector to an origin, the same one each time. */
  type Connecting = (origin: string) => Connector

  const createConnecting = (tls: UpstreamTlsConfig, lookup?: LookupFunction): Connecting => {
    const made = new Map<string, Connector>()
    return (origin) => {
      const known = made.get(origin) ?? createConnector(origin, tls, 5000)(lookup)
      made.set(origin, known)
      return known
    }
  }

  const connectingBy = (tls: Partial<UpstreamTlsConfig>): Connecting => createConnecting({ ...ordinary, ...tls })

  /** Connects, exchanges a hello, and resolves to the outcome. */
  const connect = (connecting: Connecting, port: number, hostname = 'localhost') =>
    new Promise<{ readonly error: GatewayError | null; readonly socket: TLSSocket | null }>((resolve) => {
      connecting(`https://${hostname}:${port}`)((error, connected) => {
        if (connected === null) return resolve({ error: error as GatewayError, socket: null })
        const socket = connected as TLSSocket
        onTestFinished(() => void socket.destroy())
        socket.once('data', () => resolve({ error: null, socket }))
        socket.write('hello')
      })
    })

  type Make<T> = (made: Certificates) => T
  const known: Make<Partial<UpstreamTlsConfig>> = ({ authority }) => ({ ca: authority.cert })
  const unknown = 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'

  test.each<[string, Make<Pair>, Make<Partial<UpstreamTlsConfig>>, string]>([
    ['has no known authority', ({ right }) => right, () => ({}), unknown],
    ['signed itself', ({ selfSigned }) => selfSigned, () => ({}), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['another authority signed', ({ right }) => right, ({ selfSigned }) => ({ ca: selfSigned.cert }), unknown],
    ['has expired', ({ expired }) => expired, known, 'CERT_HAS_EXPIRED'],
    ['has another name', ({ wrongName }) => wrongName, known, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    [
      'has the name of the endpoint, not the one to verify',
      ({ right }) => right,
      (made) => ({ ...known(made), serverName: 'other.test' }),
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ],
  ])('to an endpoint that %s is tls-failed, every time', async (_, pick, tls, code) => {
    const { port } = await serveTls(pick(made))
    const connecting = connectingBy(tls(made))

    for (let n = 0; n < 2; n++)
      expect(await connect(connecting, port)).toMatchObject({
        socket: null,
        error: { kind: 'tls-failed', cause: { code } },
      })
  })

  // RFC 6066 §3: an address is never indicated.
  test.each<[string, Make<Pair>, string, string | null, string | false]>([
    ['an endpoint that its own authority signed', ({ right }) => right, 'localhost', null, 'localhost'],
    ['an address, whose name is not asked for', ({ right }) => right, '127.0.0.1', null, false],
    ['the server name, which is verified', ({ wrongName }) => wrongName, 'localhost', 'other.test', 'other.test'],
  ])('is made to %s, and never asks for the Host that is sent', async (_, pick, hostname, serverName, indicated) => {
    const { port, clients } = await serveTls(pick(made))

    const { error, socket } = await connect(connectingBy({ ...known(made), serverName }), port, hostname)

    expect([error, socket?.authorized]).toEqual([null, true])
    expect(clients.map(({ servername }) => servername)).toEqual([indicated])
  })

  // draft-ietf-tls-ecdhe-mlkem: 4588 is X25519MLKEM768.
  test('exchanges keys in a hybrid group by default', async () => {
    const { port, clients } = await serveTls(made.right)

    await connect(connectingBy({ ca: made.authority.cert }), port)

    expect(clients.map(getNegotiatedGroup)).toEqual([4588])
  })

  test('that verifies nothing is made to an endpoint that signed itself', async () => {
    const { port } = await serveTls(made.selfSigned)

    const { error, socket } = await connect(connectingBy({ verify: false }), port)

    expect(error).toBeNull()
    expect(socket?.authorized).toBe(false)
  })

  const versions = ['TLSv1.2', 'TLSv1.3'] as const

  test.each(versions)('shows its certificate to an endpoint that demands one (%s)', async (maxVersion) => {
    const { port, clients } = await serveTls(made.right, { ca: made.authority.cert, requestCert: true, maxVersion })
    const own = { certificate: made.client.cert, key: made.client.key }

    await connect(connectingBy({ ...known(made), ...own }), port)

    const shown = clients.map((socket) => [socket.authorized, socket.getPeerCertificate().subject.CN])
    expect(shown).toEqual([[true, 'client']])
  })

  test('to an endpoint that speaks an older version only is tls-failed', async () => {
    const { port } = await serveTls(made.right, { maxVersion: 'TLSv1.2' })
    const ca = made.authority.cert

    const tooOld = await connect(connectingBy({ ca, minVersion: 'TLSv1.3' }), port)
    const oldEnough = await connect(connectingBy({ ca, minVersion: 'TLSv1.2' }), port)

    expect(tooOld.error).toMatchObject({ kind: 'tls-failed' })
    expect(oldEnough.socket?.getProtocol()).toBe('TLSv1.2')
  })

  test.each(versions)('resumes a session of an earlier one, and none with other settings (%s)', async (maxVersion) => {
    const ca = made.authority.cert
    const { port } = await serveTls(made.right, { maxVersion, ca, requestCert: true, rejectUnauthorized: false })
    const bare = connectingBy({ ca })
    const own = { certificate: made.client.cert, key: made.client.key }
    const resumed: unknown[] = []

    for (const connecting of [bare, bare, connectingBy({ ca, ...own }), connectingBy({ verify: false })])
      resumed.push((await connect(connecting, port)).socket?.isSessionReused())

    expect(resumed).toEqual([false, true, false, false])
  })

  describe('the certificate that was shown', () => {
    const day = 86_400_000
    const endsIn = (tls: UpstreamTlsConfig, port: number): readonly number[] =>
      getEndpointCertificates(tls, `localhost:${port}`).list.map(({ notAfter }) =>
        Math.round((notAfter - Date.now()) / day),
      )

    test('is known by its end and its address, and one that is rejected is not', async () => {
      const [{ port }, rejected] = [await serveTls(made.ending), await serveTls(made.expired)]
      const tls = { ...ordinary, ca: made.authority.cert }
      const connecting = createConnecting(tls)

      await connect(connecting, port)
      await connect(connecting, rejected.port)

      expect(getEndpointCertificates(tls, `localhost:${port}`).list).toMatchObject([{ address: '127.0.0.1' }])
      expect(endsIn(tls, port)).toEqual([10])
      expect(endsIn(tls, rejected.port)).toEqual([])
    })

    test.each(versions)(
      'is asked for again when it ends soon: its successor is seen at once (%s)',
      async (maxVersion) => {
        const { port, server } = await serveTls(made.ending, { maxVersion })
        const tls = { ...ordinary, ...known(made) }
        const connecting = createConnecting(tls)

        await connect(connecting, port)
        const second = await connect(connecting, port)
        const before = endsIn(tls, port)
        server.setSecureContext(made.renewed)
        await connect(connecting, port)

        expect([second.socket?.isSessionReused(), before]).toEqual([false, [10]])
        expect(endsIn(tls, port)[0]).toBeGreaterThan(10_000)
      },
    )

    test('is of the name that was asked for: settings with another one know nothing of it', async () => {
      const { port } = await serveTls(made.wild)
      const [named, other] = ['a.wild.test', 'b.other.test'].map((serverName) => {
        return { ...ordinary, ...known(made), serverName }
      }) as [UpstreamTlsConfig, UpstreamTlsConfig]

      await connect(createConnecting(named), port)
      await connect(createConnecting(other), port)

      expect(endsIn(named, port)).toHaveLength(1)
      expect(endsIn(other, port)).toEqual([])
    })

    const shows = (remoteAddress: string, days: number, isReused = false): TLSSocket =>
      ({
        remoteAddress,
        isSessionReused: () => isReused,
        getPeerX509Certificate: () => ({ validFromDate: new Date(0), validToDate: new Date(days * day) }),
      }) as unknown as TLSSocket

    test('is kept for each address, until the name no longer resolves to it', () => {
      const certificates = new EndpointCertificates()
      certificates.record(shows('192.0.2.1', 300), 0)
      certificates.record(shows('192.0.2.2', 200), 0)
      certificates.record(shows('192.0.2.1', 400), 1)
      certificates.record(shows('192.0.2.2', 900, true), 2)

      const both = certificates.list.map(({ address, notAfter }) => [address, notAfter / day])
      certificates.retain(['192.0.2.1', '192.0.2.3'])

      expect(both).toEqual([
        ['192.0.2.2', 200],
        ['192.0.2.1', 400],
      ])
      expect(certificates.list.map(({ address }) => address)).toEqual(['192.0.2.1'])
    })

    test('takes limited memory, however many addresses a name has had', () => {
      const certificates = new EndpointCertificates()

      for (let n = 0; n < 1000; n++) certificates.record(shows(`192.0.2.${n}`, 300), n)

      expect(certificates.list).toHaveLength(64)
      expect(certificates.list.at(-1)?.address).toBe('192.0.2.999')
    })

    test.each([
      [300, 285.9, false],
      [300, 286, true],
      [30, 20, true],
      [30, 19.9, false],
      [6, 3.9, false],
      [6, 4, true],
    ])('that is good for %d days is near its end after %d: %s', (days, after, expected) => {
      const certificates = new EndpointCertificates()
      certificates.record(shows('192.0.2.1', days), 0)

      expect(certificates.isExpiringSoon(after * day)).toBe(expected)
    })
  })
})
