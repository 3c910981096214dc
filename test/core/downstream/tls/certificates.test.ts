import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../../../helpers/certificates.ts'
import { fetchAdmin } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { requestOverTls, tlsHandshake } from '../../../helpers/tls-client.ts'
import { bootTlsGateway, certificateEntry } from '../../../helpers/tls-gateway.ts'
import { openHttpUpstream } from '../../../helpers/upstream.ts'

const openssl = await needProgram('openssl')

describe.skipIf(openssl.missing)('TLS on the public listener', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  test('serves a client that verifies the certificate, and sends the upstream X-Forwarded-Proto', async () => {
    const upstream = await openHttpUpstream(({ rawHeaders }, response) =>
      response.end(rawHeaders[rawHeaders.indexOf('X-Forwarded-Proto') + 1]),
    )
    const { port } = await bootTlsGateway(made.right, {}, { upstream: upstream.url })

    const response = await requestOverTls(port, { ca: made.authority.cert, rejectUnauthorized: true })
    await upstream.close()

    expect(response.status).toBe(200)
    expect(response.text).toMatch(/\r\n\r\nhttps$/)
    expect(response.text).not.toMatch(/strict-transport-security/i)
  })

  test.each([
    ['TLSv1.1', {}, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
    ['TLSv1.2', {}, null],
    ['TLSv1.3', {}, null],
    ['TLSv1.2', { minVersion: 'TLSv1.3' }, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'],
  ] as const)('%s with %j: %s', async (version, tls, expected) => {
    const { port } = await bootTlsGateway(made.right, tls)

    const { socket, failure } = await tlsHandshake(port, {
      minVersion: version,
      maxVersion: version,
      ciphers: 'DEFAULT@SECLEVEL=0',
    })
    socket.destroy()

    expect(failure).toBe(expected)
  })

  test.each(['AES128-GCM-SHA256', 'ECDHE-ECDSA-AES128-SHA256'])('no suite without %s', async (ciphers) => {
    const { port } = await bootTlsGateway(made.right)

    const { socket, failure } = await tlsHandshake(port, { ciphers, maxVersion: 'TLSv1.2' })
    socket.destroy()

    expect(failure).toMatch(/HANDSHAKE_FAILURE/)
  })

  test('shows the certificate of the name that is asked for, else the first', async () => {
    const { port, edit, reload } = await bootTlsGateway(made.right)
    const before = await requestOverTls(port, { servername: 'other.test' })
    const all = [made.right, made.wrongName, made.wild].map(certificateEntry)
    edit({ listen: { tls: { certificates: all } } })
    await reload()

    const names = [
      'localhost',
      'other.test',
      'OTHER.test',
      'other.test.', // RFC 6066 §3 has no dot at its end, and some clients send it
      'Other.Test.',
      'a.wild.test',
      'a.wild.test.',
      'a.b.wild.test',
      'wild.test',
      'nobody.test',
      '',
    ]
    const shown = []
    for (const servername of names) {
      const { socket } = await tlsHandshake(port, { servername })
      shown.push(socket.getPeerCertificate().subject.CN)
      socket.destroy()
    }

    expect(before.status).toBe(200)
    expect(shown).toEqual([
      'right',
      'wrong',
      'wrong',
      'wrong',
      'wrong',
      'wild',
      'wild',
      'right',
      'right',
      'right',
      'right',
    ])
  })

  test('a name that is taken out is forgotten', async () => {
    const { port, edit, reload } = await bootTlsGateway(made.right)
    edit({ listen: { tls: { certificates: [made.right, made.wrongName].map(certificateEntry) } } })
    await reload()
    edit({ listen: { tls: { certificates: [certificateEntry(made.right)] } } })
    await reload()

    const { socket } = await tlsHandshake(port, { servername: 'other.test' })
    const shown = socket.getPeerCertificate().subject.CN
    socket.destroy()

    expect(shown).toBe('right')
  })

  test('a renewed pair is for new connections; those that are open keep theirs, and no handshake fails meanwhile', async () => {
    const { port, write, reload } = await bootTlsGateway(made.right)
    const open = await tlsHandshake(port)
    const serials = new Set<string>()
    const failures: number[] = []
    let done = false
    const load = Array.from({ length: 4 }, async () => {
      while (!done) {
        const { status, serial } = await requestOverTls(port)
        if (status !== 200) failures.push(status)
        serials.add(serial)
      }
    })

    const results = []
    for (const pair of [made.renewed, made.right, made.renewed]) {
      write(pair)
      results.push((await reload()).result)
      await requestOverTls(port)
    }
    done = true
    await Promise.all(load)
    const after = await requestOverTls(port)
    open.socket.write('GET /market/insights HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const response = await new Promise((resolve) => open.socket.once('data', (chunk) => resolve(String(chunk))))
    const kept = open.socket.getPeerCertificate().serialNumber
    open.socket.destroy()

    expect(results).toEqual(['applied', 'applied', 'applied'])
    expect(failures).toEqual([])
    expect(serials.size).toBe(2)
    expect(after.serial).not.toBe(kept)
    expect(response).toMatch(/^HTTP\/1\.1 200/)
  })

  test('a rollback goes past a renewal to the edit before it, and keeps the renewed certificate', async () => {
    const { port, admin, edit, write, reload } = await bootTlsGateway(made.right)
    const tls = { certificates: [{ certificate: 'file:tls.crt', key: 'file:tls.key' }] }
    edit({ listen: { tls, maxHeaderFields: 50 } })
    await reload()
    write(made.renewed)
    await reload()

    const { status, body } = await fetchAdmin(`${admin}/rollback`, 'POST')

    const { socket } = await tlsHandshake(port, {})
    const shown = socket.getPeerX509Certificate()?.fingerprint256
    socket.destroy()
    expect([status, body.changes]).toMatchObject([200, [{ path: 'listen.maxHeaderFields', from: 50, to: 100 }]])
    expect(shown).toBe(new X509Certificate(made.renewed.cert).fingerprint256)
  })

  test('a key of another certificate is rejected, with its place, and the previous pair is still shown', async () => {
    const { port, write, reload } = await bootTlsGateway(made.right)
    const before = await requestOverTls(port)
    write({ cert: made.renewed.cert, key: made.right.key })

    const outcome = await reload()
    const after = await requestOverTls(port)

    expect(outcome).toMatchObject({
      result: 'refused',
      problems: [
        {
          path: 'listen.tls.certificates[0].key',
          message: 'the key does not belong to the certificate',
          line: 1,
          column: expect.any(Number),
        },
      ],
    })
    expect(after).toMatchObject({ status: 200, serial: before.serial })
  })

  test('cannot be switched off while the gateway runs', async () => {
    const { edit, reload } = await bootTlsGateway(made.right)
    edit({})

    const outcome = await reload()

    expect(outcome).toMatchObject({ result: 'refused', problems: [{ path: 'listen.tls' }] })
  })

  test('nothing of an edit that needs a restart is applied', async () => {
    const { port, edit, reload } = await bootTlsGateway(made.right)
    edit({ listen: { via: 'other', tls: { certificates: [certificateEntry(made.renewed)] } } })

    const outcome = await reload()
    const { socket } = await tlsHandshake(port, {})
    const shown = socket.getPeerCertificate().subject.CN
    socket.destroy()

    expect(outcome).toMatchObject({ result: 'refused', problems: [{ path: 'listen.via', found: 'other' }] })
    expect(shown).toBe('right')
  })

  test('a session is resumed', async () => {
    const { port } = await bootTlsGateway(made.right)
    const first = await requestOverTls(port)

    const again = await requestOverTls(port, { session: first.session })

    expect([first.resumed, again.resumed, again.status]).toEqual([false, true, 200])
  })

  test('a handshake that is not finished in time is cut, and so is silence', async () => {
    const { port, line } = await bootTlsGateway(made.right, {}, { listen: { timeouts: { headers: '100ms' } } })
    const silent = await readUntilEnd(port, '')
    const begun = await readUntilEnd(port, '\x16\x03\x01')

    expect([silent, begun]).toEqual(['', ''])
    await line(({ msg, reason }) => msg === 'handshake failed' && reason === 'timeout')
  })

  test('a stop waits neither for an idle client nor for half a handshake', async () => {
    const { port, gateway } = await bootTlsGateway(made.right)
    const idle = await tlsHandshake(port)
    const half = await rawClient(port)
    half.send('\x16\x03\x01')
    const closed = new Promise((resolve) => idle.socket.once('close', resolve))

    await Promise.all([gateway.close(), closed, half.ended()])

    expect(idle.failure).toBeNull()
  })
})

const readUntilEnd = async (port: number, bytes: string): Promise<string> => {
  const client = await rawClient(port)
  if (bytes !== '') client.send(bytes)
  return (await client.ended()).received
}
