import { once } from 'node:events'
import type { AddressInfo, LookupFunction, Socket } from 'node:net'
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { UpstreamTlsConfig } from '../../../../src/core/config/config.ts'
import { getNegotiatedGroup } from '../../../../src/core/downstream/tls/tls-acceptor.ts'
import type { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import {
  EndpointCertificates,
  getEndpointCertificates,
} from '../../../../src/core/upstream/endpoints/endpoint-certificates.ts'
import { type Connector, createConnector } from '../../../../src/core/upstream/http1/connector.ts'
import { type Certificates, makeCertificates, type Pair } from '../../../helpers/certificates.ts'
import { needProgram } from '../../../helpers/program.ts'
import { upstreamConfig } from '../../../helpers/upstream-config.ts'

const openssl = await needProgram('openssl')

const { tls: ordinary } = upstreamConfig('http://unused.invalid')

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
    const open = new Set<Socket>()
    server.on('connection', (socket: Socket) => open.add(socket))
    server.on('tlsClientError', () => {})
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => {
      server.close()
      for (const socket of open) socket.destroy()
    })
    return { port: (server.address() as AddressInfo).port, clients, server }
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

  const failed = (code: string) => ({ socket: null, error: { kind: 'tls-failed', cause: { code } } })

  test('is made to an endpoint that is signed by an authority of its own', async () => {
    const { port } = await serveTls(made.right)

    const { error, socket } = await connect(connectingBy({ ca: made.authority.cert }), port)

    expect(error).toBeNull()
    expect(socket?.authorized).toBe(true)
  })

  test.each<[string, (made: Certificates) => Pair, (made: Certificates) => Partial<UpstreamTlsConfig>, string]>([
    ['has no known authority', ({ right }) => right, () => ({}), 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
    ['signed itself', ({ selfSigned }) => selfSigned, () => ({}), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    [
      'an authority signed that is not its own',
      ({ right }) => right,
      ({ selfSigned }) => ({ ca: selfSigned.cert }),
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    ],
    ['has expired', ({ expired }) => expired, ({ authority }) => ({ ca: authority.cert }), 'CERT_HAS_EXPIRED'],
    [
      'has another name',
      ({ wrongName }) => wrongName,
      ({ authority }) => ({ ca: authority.cert }),
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ],
    [
      'has the name of the endpoint, not the one to verify',
      ({ right }) => right,
      ({ authority }) => ({ ca: authority.cert, serverName: 'other.test' }),
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ],
  ])('to an endpoint that %s is tls-failed, every time', async (_, pick, tls, code) => {
    const { port } = await serveTls(pick(made))
    const connecting = connectingBy(tls(made))

    const first = await connect(connecting, port)
    const again = await connect(connecting, port)

    expect(first).toMatchObject(failed(code))
    expect(again).toMatchObject(failed(code))
  })

  test('asks for the server name and verifies it', async () => {
    const { port, clients } = await serveTls(made.wrongName)

    const { error } = await connect(connectingBy({ ca: made.authority.cert, serverName: 'other.test' }), port)

    expect(error).toBeNull()
    expect(clients.map(({ servername }) => servername)).toEqual(['other.test'])
  })

  // draft-ietf-tls-ecdhe-mlkem: 4588 is X25519MLKEM768.
  test('exchanges keys in a hybrid group by default', async () => {
    const { port, clients } = await serveTls(made.right)

    await connect(connectingBy({ ca: made.authority.cert }), port)

    expect(clients.map(getNegotiatedGroup)).toEqual([4588])
  })

  test.each([
    ['localhost', 'localhost'],
    ['127.0.0.1', false], // RFC 6066 §3: an address is never indicated
  ])('asks for the name of the endpoint, not for the Host that is sent (%s)', async (hostname, indicated) => {
    const { port, clients } = await serveTls(made.right)

    const { error } = await connect(connectingBy({ ca: made.authority.cert }), port, hostname)

    expect(error).toBeNull()
    expect(clients.map(({ servername }) => servername)).toEqual([indicated])
  })

  test('that verifies nothing is made to an endpoint that signed itself', async () => {
    const { port } = await serveTls(made.selfSigned)

    const { error, socket } = await connect(connectingBy({ verify: false }), port)

    expect(error).toBeNull()
    expect(socket?.authorized).toBe(false)
  })

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'shows its certificate to an endpoint that demands one (%s)',
    async (version) => {
      const demanding = { ca: made.authority.cert, requestCert: true, maxVersion: version }
      const { port, clients } = await serveTls(made.right, demanding)
      const own = { certificate: made.client.cert, key: made.client.key }

      const { error } = await connect(connectingBy({ ca: made.authority.cert, ...own }), port)

      expect(error).toBeNull()
      expect(clients.map((socket) => [socket.authorized, socket.getPeerCertificate().subject.CN])).toEqual([
        [true, 'client'],
      ])
    },
  )

  test('to an endpoint that speaks an older version only is tls-failed', async () => {
    const { port } = await serveTls(made.right, { maxVersion: 'TLSv1.2' })
    const ca = made.authority.cert

    const tooOld = await connect(connectingBy({ ca, minVersion: 'TLSv1.3' }), port)
    const oldEnough = await connect(connectingBy({ ca, minVersion: 'TLSv1.2' }), port)

    expect(tooOld.error).toMatchObject({ kind: 'tls-failed' })
    expect(oldEnough.socket?.getProtocol()).toBe('TLSv1.2')
  })

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'resumes the session of an earlier one, and never one with other settings (%s)',
    async (version) => {
      const { port } = await serveTls(made.right, {
        maxVersion: version,
        ca: made.authority.cert,
        requestCert: true,
        rejectUnauthorized: false,
      })
      const ca = made.authority.cert
      const bare = connectingBy({ ca })
      const own = { certificate: made.client.cert, key: made.client.key }

      const first = await connect(bare, port)
      const second = await connect(bare, port)
      const known = await connect(connectingBy({ ca, ...own }), port)
      const unverified = await connect(connectingBy({ verify: false }), port)

      const resumed = [first, second, known, unverified].map(({ socket }) => socket?.isSessionReused())
      expect(resumed).toEqual([false, true, false, false])
    },
  )

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

    test.each(['TLSv1.2', 'TLSv1.3'] as const)(
      'is asked for again each time when it ends soon, so that its successor is seen at once (%s)',
      async (maxVersion) => {
        const { port, server } = await serveTls(made.ending, { maxVersion })
        const tls = { ...ordinary, ca: made.authority.cert }
        const connecting = createConnecting(tls)

        const first = await connect(connecting, port)
        const second = await connect(connecting, port)
        const before = endsIn(tls, port)
        server.setSecureContext({ key: made.renewed.key, cert: made.renewed.cert })
        await connect(connecting, port)

        expect([first, second].map(({ socket }) => socket?.isSessionReused())).toEqual([false, false])
        expect(before).toEqual([10])
        expect(endsIn(tls, port)[0]).toBeGreaterThan(10_000)
      },
    )

    test('is of the name that was asked for: settings with another one know nothing of it', async () => {
      const { port } = await serveTls(made.wild)
      const ca = made.authority.cert
      const [named, other] = [
        { ...ordinary, ca, serverName: 'a.wild.test' },
        { ...ordinary, ca, serverName: 'b.other.test' },
      ]

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
