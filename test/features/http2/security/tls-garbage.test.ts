import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Certificates, makeCertificates } from '../../../helpers/certificates.ts'
import { frame, get, head } from '../../../helpers/http2.ts'
import { needProgram } from '../../../helpers/program.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'
import { rawUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

const openssl = await needProgram('openssl')

const post = 'POST /valuation/score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'
const preface = [Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)]
const upload = [head(1, get('/valuation/score', 'POST'), false), frame(0, 0, 1, Buffer.from('abc'))]

// The attack: a machine in the middle writes into a connection, or its client does. Nothing more can be sent on it, and
// no client waits on it for a response.
describe.skipIf(openssl.missing)('what is no TLS, in the middle of a connection', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  test.each([
    ['http/1.1', 'a request is answered', Buffer.from('GET /market/insights HTTP/1.1\r\nHost: localhost\r\n\r\n')],
    ['http/1.1', 'a body is sent', Buffer.from(post)],
    ['h2', 'a request is answered', Buffer.concat([...preface, head(1)])],
    ['h2', 'a body is sent', Buffer.concat([...preface, ...upload])],
  ])('over %s, ends it at once, while %s', async (protocol, _, bytes) => {
    const upstream = await rawUpstream((socket) => socket.resume().on('end', () => socket.end()))
    const { port, line } = await bootTlsGateway(made.right, {}, { upstream: upstream.url, listen: { http2: true } })
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
