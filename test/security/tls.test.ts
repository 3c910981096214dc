import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { validateKeyPair } from '../../src/core/config/certificates.ts'
import { makeCertificates, type Pair } from '../helpers/certificates.ts'
import { bootGateway } from '../helpers/gateway.ts'
import { needProgram } from '../helpers/program.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { tlsHandshake } from '../helpers/tls-client.ts'
import { bootTlsGateway } from '../helpers/tls-gateway.ts'
import { rawUpstream } from '../helpers/upstream.ts'

const openssl = await needProgram('openssl')
const made = openssl.path === null ? null : makeCertificates(openssl.path)
const pair = made?.right ?? { key: '', cert: '' }

// The attack: an eavesdropper makes a client leave out TLS. The gateway serves nothing in the clear, and the client
// gets an error in plain HTTP.
describe.skipIf(openssl.missing)('plain HTTP on a TLS port', () => {
  const send = async (bytes: string) => {
    const { port, line } = await bootTlsGateway(pair)
    const client = await rawClient(port)
    client.send(bytes)
    return { ...(await client.ended()), line }
  }

  test('plain HTTP on a TLS port gets 400 in the shape of every other error, then a close, and leaves a log line', async () => {
    // The client goes on sending, and still gets the response.
    const { received, how, line } = await send(
      `POST /valuation/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(500_000)}`,
    )

    const [head = '', body = ''] = received.split('\r\n\r\n')
    expect(how).toBe('end')
    expect(head).toMatch(/^HTTP\/1\.1 400 /)
    expect(head).toMatch(/^content-type: application\/problem\+json\r$/im)
    expect(head).toMatch(/^connection: close$/im)
    const { requestId, ...problem } = JSON.parse(body)
    expect(problem).toEqual({ type: 'about:blank', title: 'Bad Request', status: 400, code: 'bad-request' })
    expect(await line((each) => each.requestId === requestId)).toMatchObject({
      ...{ status: 400, failure: 'bad-request', cause: 'plain HTTP on a TLS port', client: '127.0.0.1' },
    })
  })

  test('HEAD over plain HTTP on a TLS port gets a response without a body', async () => {
    const { received } = await send('HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n')

    expect(received).toMatch(/^HTTP\/1\.1 400 [\s\S]*\r\n\r\n$/)
  })

  test('TLS on a port of plain HTTP is named in the log', async () => {
    const { port, line } = await bootGateway()
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    const rejected = new Promise((resolve) => socket.once('error', resolve))

    expect(await line(({ reason }) => reason === 'tls-on-plain-port')).toMatchObject({
      ...{ status: 400, failure: 'bad-request', cause: 'TLS on a port of plain HTTP' },
    })
    await rejected
  })
})

// The attack (CVE-2011-1473): handshake after handshake on one connection makes the gateway do the expensive half of
// each.
test.skipIf(openssl.missing)('the first renegotiation is rejected', async () => {
  const { port } = await bootTlsGateway(pair)
  const { socket, failure } = await tlsHandshake(port, { maxVersion: 'TLSv1.2' })

  const rejected = await new Promise((resolve) => {
    socket.on('error', resolve)
    socket.renegotiate({ rejectUnauthorized: false }, resolve)
  })
  socket.destroy()

  expect(failure).toBeNull()
  expect(String(rejected)).toMatch(/no renegotiation/i)
})

const alert = 21

/** Lists the types of TLS records, which TLS 1.2 does not encrypt. */
const typesOf = (bytes: Buffer): readonly number[] => {
  const types: number[] = []
  for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) types.push(bytes.readUInt8(at))
  return types
}

// The attack: a response to HTTP/1.0 ends with its connection, so an attacker who breaks the upstream connection
// decides where. Only close_notify distinguishes a whole response from a part (RFC 8446 §6.1): it must not be sent
// behind a part.
test.skipIf(openssl.missing).each([
  ['whole', true],
  ['cut short', false],
])('of a response that ends with its connection and is %s, close_notify is sent: %s', async (_, whole) => {
  let cut = (): void => {}
  const upstream = await rawUpstream((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
      if (whole) socket.end('0\r\n\r\n')
      else cut = () => socket.resetAndDestroy()
    })
  })
  const { port } = await bootTlsGateway(pair, {}, { upstream: upstream.url })
  const records: Buffer[] = []
  const tap = await rawUpstream((client) => {
    const behind = connect(port, '127.0.0.1')
    behind.on('data', (chunk) => records.push(chunk))
    behind.on('error', () => {})
    behind.on('close', () => client.destroy())
    client.pipe(behind)
    behind.pipe(client)
  })
  const { socket } = await tlsHandshake(tap.port, { maxVersion: 'TLSv1.2' })
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
    if (text.endsWith('hello')) cut()
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write('GET /market/insights HTTP/1.0\r\nHost: localhost\r\n\r\n')
  await closed

  expect(text).toMatch(/\r\n\r\nhello$/)
  expect(typesOf(Buffer.concat(records)).includes(alert)).toBe(whole)
})

/** A pair whose key is shorter than TLS accepts. */
const makeShort = (): Pair => {
  const folder = mkdtempSync(join(tmpdir(), 'short-'))
  const args = ['-newkey', 'rsa:1024', '-nodes', '-keyout', 'key', '-out', 'cert', '-subj', '/CN=short']
  execFileSync(openssl.path ?? '', ['req', '-x509', ...args], { cwd: folder, stdio: 'ignore' })
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const short = { cert: read('cert'), key: read('key') }
  rmSync(folder, { recursive: true })
  return short
}

const empty = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'

// The fault: certificate and key belong together, but TLS rejects them: a key that is too short, or a chain that is cut
// off. `check` accepted the file, and a gateway that restarted with it did not start.
test.skipIf(openssl.missing).each<[string, string, () => Pair]>([
  ['a short key', 'ee key too small', makeShort],
  [
    'a chain that is cut off',
    'bad end line',
    () => ({ ...pair, cert: pair.cert + made?.authority.cert.slice(0, 300) }),
  ],
  ['an empty certificate behind it', 'wrong tag', () => ({ ...pair, cert: pair.cert + empty })],
])('a pair that TLS does not take is a problem of the file, which quotes neither: %s', (_, found, make) => {
  const { cert: certificate, key } = make()

  const findings = validateKeyPair(['admin', 'tls'], { certificate, key })

  expect(findings).toEqual([expect.objectContaining({ path: ['admin', 'tls', 'certificate'], found })])
  const printed = JSON.stringify(findings)
  for (const line of `${certificate}${key}`.split('\n').filter((text) => /^[\w+/=]{16,}$/.test(text)))
    expect(printed).not.toContain(line)
})
