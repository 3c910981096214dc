/** Connections that are kept without requests, break behind their handshake, or get bytes of a third party. */
import { once } from 'node:events'
import { constants } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bootHttp2, codeOf, frame, frameClient, get, head, missing } from '../../../helpers/http2.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'
import { bareGet, eventually } from '../../../helpers/wire.ts'

describe.skipIf(missing !== null)('what a client may keep', () => {
  test('a client keeps no connection without requests, whatever else it sends', async () => {
    const { port } = await bootHttp2({ listen: { timeouts: { keepAlive: '200ms' } } })
    const clients = await Promise.all(Array.from({ length: 5 }, () => frameClient(port)))

    for (const client of clients) {
      await client.send(head(1), frame(8, 0, 0, Buffer.from([0, 0, 0, 1])))
      await client.frame(({ stream, flags }) => stream === 1 && (flags & 1) === 1)
    }

    await Promise.all(clients.map((client) => client.ended()))
    expect(clients.map(({ frames }) => frames.filter(({ type }) => type === 7).map(codeOf))).toEqual(
      clients.map(() => [0]),
    )
  })

  test('a client has at most a hundred requests under way', async () => {
    const silent = await rawUpstream(() => {})
    const { port } = await bootHttp2({ upstream: silent.url })
    const client = await frameClient(port)

    await client.send(...Array.from({ length: 101 }, (_, n) => head(2 * n + 1)))
    const rejected = await client.frame(({ type }) => type === 3)

    expect(rejected).toMatchObject({ stream: 201 })
    client.socket.destroy() // or the gateway would wait for those that are under way
    expect(rejected && codeOf(rejected)).toBe(constants.NGHTTP2_REFUSED_STREAM)
  })
})

/** Sends bytes with the last ones of a handshake, and resets the connection before the gateway has read either. */
const sendAndReset = async (port: number, protocol: string, bytes: Buffer): Promise<void> => {
  const raw = connect(port, '127.0.0.1')
  await once(raw, 'connect')
  const secured = connectTls({ socket: raw, rejectUnauthorized: false, ALPNProtocols: [protocol] })
  await once(secured, 'secureConnect')
  secured.write(bytes)
  raw.resetAndDestroy()
}

/** Connects over TLS, and keeps the socket below within reach. */
const dial = async (port: number, protocol: string): Promise<{ readonly raw: Socket; readonly secure: TLSSocket }> => {
  const raw = connect(port, '127.0.0.1').on('error', () => {})
  onTestFinished(() => void raw.destroy())
  const socket = new Duplex({ read() {}, write: (chunk, _, done) => void raw.write(chunk, () => done()) })
  raw.on('data', (chunk) => socket.push(chunk))
  const options = { socket: socket as Socket, ALPNProtocols: [protocol], rejectUnauthorized: false }
  const secure = connectTls({ ...options, servername: 'localhost', maxVersion: 'TLSv1.2' }).on('error', () => {})
  await new Promise((resolve) => secure.once('secureConnect', resolve))
  return { raw, secure }
}

const asked = Buffer.from(bareGet())
const post = 'POST /valuation/score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'
const preface = [Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)]
const upload = [head(1, get('/valuation/score', 'POST'), false), frame(0, 0, 1, Buffer.from('abc'))]

describe.skipIf(missing !== null)('a connection', () => {
  // The system no longer knows its address.
  test.each([
    ['http/1.1', asked],
    ['h2', Buffer.concat([...preface, head(1)])],
  ])(
    'a connection over %s that is reset right behind its handshake is neither served nor recorded',
    async (protocol, bytes) => {
      const upstream = await httpUpstream()
      const { port, lines, line } = await bootHttp2({ upstream: upstream.url })

      await sendAndReset(port, protocol, bytes)

      expect((await requestOverTls(port)).status).toBe(200)
      await line(({ msg, status }) => msg === 'exchange' && status === 200)
      expect(lines.filter(({ msg }) => msg === 'exchange')).toMatchObject([{ client: '127.0.0.1', status: 200 }])
      expect(upstream.begun()).toBe(1)
    },
  )

  // The attack: a machine in the middle, or the client, writes plain bytes into a TLS connection. Nothing more can be
  // sent on it, and no client waits for a response.
  test.each([
    ['http/1.1', 'a request gets a response', asked],
    ['http/1.1', 'a body is sent', Buffer.from(post)],
    ['h2', 'a request gets a response', Buffer.concat([...preface, head(1)])],
    ['h2', 'a body is sent', Buffer.concat([...preface, ...upload])],
  ])('a connection over %s ends at once when bytes that are no TLS come while %s', async (protocol, _, bytes) => {
    const upstream = await rawUpstream((socket) => socket.resume().on('end', () => socket.end()))
    const { port, line } = await bootHttp2({ upstream: upstream.url })
    const { raw, secure } = await dial(port, protocol)
    secure.write(bytes)
    await eventually(() => upstream.connections() === 1)

    const closed = new Promise((resolve) => raw.once('close', resolve))
    raw.write(`\x17\x03\x03\0\x20${'x'.repeat(32)}`)
    await closed

    expect(await line(({ msg }) => msg === 'exchange')).toMatchObject({ status: 499, failure: 'client-gone' })
    await eventually(() => upstream.connections() === 0)
  })
})
