import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { validateKeyPair } from '../../src/core/config/certificates.ts'
import { type Certificates, makeCertificates } from '../helpers/certificates.ts'
import { openGateway } from '../helpers/gateway.ts'
import { needProgram } from '../helpers/program.ts'
import { parseStatus, rawClient } from '../helpers/raw-client.ts'
import { tlsHandshake } from '../helpers/tls-client.ts'
import { bootTlsGateway } from '../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

// The attack: an eavesdropper makes a client leave out TLS. Nothing is served in the clear, and the client gets an
// error in plain HTTP.
describe.skipIf(openssl.missing)('plain HTTP where TLS is spoken', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  test('is answered 400 in the shape of every other error, then closed, and leaves a line', async () => {
    const { port, line } = await bootTlsGateway(made.right)
    const client = await rawClient(port)
    client.send('GET /market/insights HTTP/1.1\r\nHost: localhost\r\n\r\n')

    const { received, how } = await client.ended()

    expect(parseStatus(received)).toBe(400)
    expect(how).toBe('end')
    const [head = '', body = ''] = received.split('\r\n\r\n')
    expect(head).toMatch(/^content-type: application\/problem\+json\r$/im)
    expect(head).toMatch(/^connection: close$/im)
    const { requestId, ...problem } = JSON.parse(body)
    expect(problem).toEqual({ type: 'about:blank', title: 'Bad Request', status: 400, code: 'bad-request' })
    expect(await line((each) => each.requestId === requestId)).toMatchObject({
      status: 400,
      failure: 'bad-request',
      cause: 'plain HTTP where TLS is spoken',
      client: '127.0.0.1',
    })
  })

  test('the other way round is named in the log: TLS where plain HTTP is spoken', async () => {
    const { gateway, port, line } = await openGateway()
    onTestFinished(() => gateway.close())
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    const refused = new Promise((resolve) => socket.once('error', resolve))

    expect(await line(({ reason }) => reason === 'tls-on-plain-port')).toMatchObject({
      status: 400,
      failure: 'bad-request',
      cause: 'TLS where plain HTTP is spoken',
    })
    await refused
  })

  test('HEAD is answered without a body', async () => {
    const { port } = await bootTlsGateway(made.right)
    const client = await rawClient(port)
    client.send('HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n')

    expect((await client.ended()).received).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\n\r\n$/)
  })

  test('a client that goes on sending gets the response all the same', async () => {
    const { port } = await bootTlsGateway(made.right)
    const client = await rawClient(port)
    client.send(
      `POST /valuation/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(500_000)}`,
    )

    expect(parseStatus((await client.ended()).received)).toBe(400)
  })
})

// The attack (CVE-2011-1473): a client that asks for handshake after handshake on one connection has the gateway do the
// expensive half of each.
describe.skipIf(openssl.missing)('renegotiation', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  test('is rejected the first time', async () => {
    const { port } = await bootTlsGateway(made.right)
    const { socket, failure } = await tlsHandshake(port, { maxVersion: 'TLSv1.2' })

    const rejected = await new Promise((resolve) => {
      socket.on('error', resolve)
      socket.renegotiate({ rejectUnauthorized: false }, resolve)
    })
    socket.destroy()

    expect(failure).toBeNull()
    expect(String(rejected)).toMatch(/no renegotiation/i)
  })
})

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

// The attack: a certificate and a key that belong together, and that TLS does not take all the same: a key that is too
// short, a chain that is cut off. `check` called the file sound, and a gateway that restarted with it did not start.
describe.skipIf(openssl.missing)('a pair that TLS does not take', () => {
  let pairs: Readonly<Record<string, { readonly certificate: string; readonly key: string }>> = {}
  beforeAll(() => {
    const { right, authority } = makeCertificates(openssl.path ?? '')
    const short = makeShort(openssl.path ?? '')
    const cut = authority.cert.slice(0, 300)
    const empty = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
    pairs = {
      short,
      cut: { certificate: right.cert + cut, key: right.key },
      empty: { certificate: right.cert + empty, key: right.key },
    }
  })

  test.each([
    ['short', 'ee key too small'],
    ['cut', 'bad end line'],
    ['empty', 'wrong tag'],
  ])('is a problem of the file, which quotes neither: %s', (name, found) => {
    const pair = pairs[name] ?? { certificate: '', key: '' }

    const findings = validateKeyPair(['admin', 'tls'], pair)

    expect(findings).toEqual([expect.objectContaining({ path: ['admin', 'tls', 'certificate'], found })])
    const printed = JSON.stringify(findings)
    for (const line of `${pair.certificate}${pair.key}`.split('\n').filter((text) => /^[\w+/=]{16,}$/.test(text)))
      expect(printed).not.toContain(line)
  })
})

/** Makes a pair whose key is shorter than TLS takes. */
const makeShort = (program: string): { readonly certificate: string; readonly key: string } => {
  const folder = mkdtempSync(join(tmpdir(), 'short-'))
  const made = ['-keyout', 'key', '-out', 'certificate', '-subj', '/CN=short']
  execFileSync(program, ['req', '-x509', '-newkey', 'rsa:1024', '-nodes', ...made], { cwd: folder, stdio: 'ignore' })
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const pair = { certificate: read('certificate'), key: read('key') }
  rmSync(folder, { recursive: true })
  return pair
}
