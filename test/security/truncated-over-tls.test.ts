import { connect, createServer, type Server, type Socket } from 'node:net'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Certificates, makeCertificates } from '../helpers/certificates.ts'
import { needProgram } from '../helpers/program.ts'
import { tlsHandshake } from '../helpers/tls-client.ts'
import { bootTlsGateway } from '../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

// The attack: a response to HTTP/1.0 ends with its connection, so an attacker who breaks the connection to the upstream
// decides where. A client distinguishes a whole response from half of one by close_notify alone (RFC 8446 §6.1): it
// must not be sent behind half of one.
describe.skipIf(openssl.missing)('a response over TLS that ends with its connection', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  test.each([
    ['whole', true],
    ['cut short', false],
  ])('and is %s: close_notify is sent: %s', async (_what, whole) => {
    const upstream = await listen((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
        if (whole) socket.end('0\r\n\r\n')
      })
      if (!whole) cuts.push(() => socket.resetAndDestroy())
    })
    const cuts: (() => void)[] = []
    const { port } = await bootTlsGateway(made.right, {}, { upstream: `http://127.0.0.1:${portOf(upstream)}` })
    const tap = await tapOf(port)
    const { socket } = await tlsHandshake(portOf(tap.server), { maxVersion: 'TLSv1.2' })
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (text.endsWith('hello')) for (const cut of cuts) cut()
    })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write('GET /market/insights HTTP/1.0\r\nHost: localhost\r\n\r\n')
    await closed

    expect(text).toMatch(/\r\n\r\nhello$/)
    expect(typesOf(tap.bytes()).includes(alert)).toBe(whole)
  })
})

const alert = 21

/** Lists the types of TLS records: they stand in the clear in TLS 1.2, whatever is in them. */
const typesOf = (bytes: Buffer): readonly number[] => {
  const types: number[] = []
  for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) types.push(bytes.readUInt8(at))
  return types
}

/** Opens a server that passes on what it is sent, and keeps what comes back. */
const tapOf = async (port: number) => {
  const chunks: Buffer[] = []
  const server = await listen((client) => {
    const behind = connect(port, '127.0.0.1')
    behind.on('data', (chunk) => chunks.push(chunk))
    behind.on('error', () => {})
    behind.on('close', () => client.destroy())
    client.pipe(behind)
    behind.pipe(client)
  })
  return { server, bytes: () => Buffer.concat(chunks) }
}

const listen = async (serve: (socket: Socket) => void): Promise<Server> => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    serve(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return server
}

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}
