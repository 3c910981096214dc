import { X509Certificate } from 'node:crypto'
import { text } from 'node:stream/consumers'
import type { ConnectionOptions, SecureVersion } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { readNegotiatedGroup } from '../../../../src/core/downstream/tls/tls-acceptor.ts'
import { needCertificates, type Pair } from '../../../helpers/certificates.ts'
import { fetchAdmin } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { requestOverTls, tlsHandshake } from '../../../helpers/tls-client.ts'
import { bootTlsGateway, certificateEntry } from '../../../helpers/tls-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const { made, missing } = await needCertificates()

/** Makes a handshake, and returns who was shown, or the failure. */
const handshake = async (port: number, options: ConnectionOptions): Promise<string> => {
  const { socket, failure } = await tlsHandshake(port, options)
  const shown = failure ?? String(socket.getPeerCertificate().subject.CN)
  socket.destroy()
  return shown
}

const readUntilEnd = async (port: number, bytes: string): Promise<string> => {
  const client = await rawClient(port)
  if (bytes !== '') client.send(bytes)
  return (await client.ended()).received
}

describe.skipIf(missing)('TLS on the public listener', () => {
  test('the TLS listener serves a client that verifies the certificate, sends X-Forwarded-Proto, and resumes sessions', async () => {
    const upstream = await httpUpstream(({ rawHeaders }, response) =>
      response.end(rawHeaders[rawHeaders.indexOf('X-Forwarded-Proto') + 1]),
    )
    const { port } = await bootTlsGateway(made.right, {}, { upstream: upstream.url })

    const first = await requestOverTls(port, { ca: made.authority.cert, rejectUnauthorized: true })
    const again = await requestOverTls(port, { session: first.session })

    expect(first.status).toBe(200)
    expect(first.text).toMatch(/\r\n\r\nhttps$/)
    expect(first.text).not.toMatch(/strict-transport-security/i)
    expect([first.resumed, again.resumed, again.status]).toEqual([false, true, 200])
  })

  test('the TLS listener speaks TLS 1.2 and 1.3 with forward secrecy and AEAD alone, from the configured version', async () => {
    const { port } = await bootTlsGateway(made.right)
    const strict = await bootTlsGateway(made.right, { minVersion: 'TLSv1.3' })
    // All that OpenSSL knows, weak ones too, in one offer.
    const every = 'ALL:COMPLEMENTOFALL:@SECLEVEL=0'
    const shakeHands = (at: number, minVersion: SecureVersion, maxVersion = minVersion, ciphers = every) =>
      handshake(at, { minVersion, maxVersion, ciphers })
    const tooOld = 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'
    const wanted = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map((each) => `ECDHE-ECDSA-${each}`)

    expect(await shakeHands(port, 'TLSv1', 'TLSv1.1')).toBe(tooOld)
    expect(await shakeHands(port, 'TLSv1.2')).toBe('right')
    expect(await shakeHands(port, 'TLSv1.3')).toBe('right')
    expect(await shakeHands(strict.port, 'TLSv1.2')).toBe(tooOld)
    for (const each of wanted) expect(await shakeHands(port, 'TLSv1.2', 'TLSv1.2', each)).toBe('right')
    const others = [every, ...wanted.map((each) => `!${each}`)].join(':')
    expect(await shakeHands(port, 'TLSv1.2', 'TLSv1.2', others)).toMatch(/HANDSHAKE_FAILURE/)
  })

  test('the TLS listener shows the certificate of the requested name, else the first, and forgets a removed one', async () => {
    const { port, admin, edit, reload } = await bootTlsGateway(made.right)
    const before = await handshake(port, { servername: 'other.test' })
    const apply = async (...pairs: readonly Pair[]) => {
      edit({ listen: { tls: { certificates: pairs.map(certificateEntry) } } })
      await reload()
    }

    await apply(made.right, made.wrongName, made.wild)
    // RFC 6066 §3 has no final dot, but some clients send one.
    const expected = {
      ...{ localhost: 'right', 'OTHER.test': 'wrong', 'Other.Test.': 'wrong', 'a.wild.test.': 'wild' },
      ...{ 'a.b.wild.test': 'right', 'wild.test': 'right', '': 'right' },
    }
    const shown: Record<string, string> = {}
    for (const servername of Object.keys(expected)) shown[servername] = await handshake(port, { servername })
    const { body } = await fetchAdmin(`${admin}/status`)
    await apply(made.right)

    expect([before, shown]).toEqual(['right', expected])
    expect(body).toMatchObject({
      certificates: [
        { key: 'listen.tls.certificates[0]', names: ['localhost'], notAfter: '2120-01-01T00:00:00.000Z' },
        { key: 'listen.tls.certificates[1]' },
        { key: 'listen.tls.certificates[2]', names: ['*.wild.test'] },
      ],
      warnings: [],
    })
    expect(await handshake(port, { servername: 'other.test' })).toBe('right')
  })

  test('an expired certificate is shown all the same, and warned of in capitals', async () => {
    const { admin, port, line } = await bootTlsGateway(made.expired)

    const { body } = await fetchAdmin(`${admin}/status`)

    expect((await requestOverTls(port)).status).toBe(200)
    expect(body.certificates).toEqual([expect.objectContaining({ notAfter: '2021-01-01T00:00:00.000Z' })])
    expect(await line(({ msg }) => msg === 'configuration warning')).toMatchObject({
      path: 'listen.tls.certificates[0].certificate',
      message: expect.stringContaining('HAS EXPIRED'),
      found: 'a certificate valid until 2021-01-01T00:00:00.000Z',
    })
  })

  test('a renewed pair is for new connections; open ones keep theirs, and no handshake fails meanwhile', async () => {
    const { port, write, reload } = await bootTlsGateway(made.right)
    const open = await tlsHandshake(port)
    const serials = new Set<string>()
    const statuses = new Set<number>()
    const request = async (): Promise<void> => {
      const { status, serial } = await requestOverTls(port)
      statuses.add(status)
      serials.add(serial)
    }

    const results = []
    for (const pair of [made.right, made.renewed]) {
      write(pair)
      const [{ result }] = await Promise.all([reload(), request(), request(), request()])
      results.push(result)
      await request()
    }
    const after = await requestOverTls(port)
    open.socket.write('GET /market/insights HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const response = await new Promise((resolve) => open.socket.once('data', (chunk) => resolve(String(chunk))))
    const kept = open.socket.getPeerCertificate().serialNumber
    open.socket.destroy()

    expect([results, [...statuses], serials.size]).toEqual([['applied', 'applied'], [200], 2])
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

  test('an edit with a bad certificate is rejected as a whole, with its place, and the previous pair is still shown', async () => {
    const { port, edit, write, reload } = await bootTlsGateway(made.right)
    const before = await requestOverTls(port)

    write({ cert: made.renewed.cert, key: made.right.key })
    const ofAnother = await reload()
    edit({})
    const off = await reload()
    edit({ listen: { via: 'other', tls: { certificates: [certificateEntry(made.renewed)] } } })
    const needsRestart = await reload()

    const message = 'the key does not belong to the certificate'
    const problem = { path: 'listen.tls.certificates[0].key', message, line: 1, column: expect.any(Number) }
    expect(ofAnother).toMatchObject({ result: 'rejected', problems: [problem] })
    expect(off).toMatchObject({ result: 'rejected', problems: [{ path: 'listen.tls' }] })
    expect(needsRestart).toMatchObject({ result: 'rejected', problems: [{ path: 'listen.via', found: 'other' }] })
    expect(await requestOverTls(port)).toMatchObject({ status: 200, serial: before.serial })
  })

  test('a handshake that is not finished in time is cut, and so is silence', async () => {
    const { port, line } = await bootTlsGateway(made.right, {}, { listen: { timeouts: { headers: '100ms' } } })
    const silent = await readUntilEnd(port, '')
    const begun = await readUntilEnd(port, '\x16\x03\x01')

    expect([silent, begun]).toEqual(['', ''])
    await line(({ msg, reason }) => msg === 'handshake failed' && reason === 'timeout')
  })

  test.each([
    ['nothing, and has its connection closed in order, when it has not sent a byte', '', ''],
    ['408 when it has sent a part of a head', 'GET /', 'HTTP/1.1 408'],
  ])('a client that sends no whole head in time gets %s', async (_, sent, told) => {
    const { port } = await bootTlsGateway(made.right, {}, { listen: { timeouts: { headers: '500ms' } } })
    const { socket } = await tlsHandshake(port)

    socket.write(sent)
    const received = await text(socket) // rejects if it ends in another way than in order

    expect(received.slice(0, 12)).toBe(told)
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

  describe('with certificates of clients', () => {
    /** Sends a request as each kind of client, and returns the statuses; 0: the handshake fails. */
    const statuses = async (port: number, version: 'TLSv1.2' | 'TLSv1.3'): Promise<object> => {
      const found: Record<string, number> = {}
      const { client: right, selfSigned, expired } = made
      for (const [name, shown] of Object.entries({ none: {}, right, selfSigned, expired }))
        found[name] = (await requestOverTls(port, { minVersion: version, maxVersion: version, ...shown })).status
      return found
    }

    test('with required client certificates, no client connects without a valid one', async () => {
      const client = { clientCertificates: 'required', clientCa: made.authority.cert, clientCrl: [made.noneRevoked] }
      const { port } = await bootTlsGateway(made.right, client)

      for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
        expect(await statuses(port, version)).toEqual({ none: 0, right: 200, selfSigned: 0, expired: 0 })
    })

    test('with optional client certificates, a client without one is served, and a revoked one is rejected', async () => {
      const client = { clientCertificates: 'optional', clientCa: made.authority.cert }
      const { port, line } = await bootTlsGateway(made.right, client)
      const revoking = await bootTlsGateway(made.right, { ...client, clientCrl: [made.clientRevoked] })

      expect(await statuses(port, 'TLSv1.2')).toEqual({ none: 200, right: 200, selfSigned: 0, expired: 0 })
      await line(({ msg, reason }) => msg === 'handshake failed' && reason === 'DEPTH_ZERO_SELF_SIGNED_CERT')
      expect((await requestOverTls(revoking.port, made.client)).status).toBe(0)
      const failed = await revoking.line(({ msg }) => msg === 'handshake failed')
      expect(failed).toMatchObject({ client: '127.0.0.1', reason: 'CERT_REVOKED' })
    })
  })

  test('handshakes are counted by version and group, as the client sees both, resumed ones too, and failed ones not', async () => {
    const client = { clientCertificates: 'optional', clientCa: made.authority.cert }
    const { port, admin } = await bootTlsGateway(made.right, client)
    await handshake(port, { ciphers: 'AES128-GCM-SHA256', maxVersion: 'TLSv1.2' })
    const first = await requestOverTls(port, { ecdhCurve: 'P-256' })
    const options: readonly ConnectionOptions[] = [
      {}, // the hybrid group by default (draft-ietf-tls-ecdhe-mlkem): traffic recorded today stays secret later
      { ecdhCurve: 'X25519' },
      { ecdhCurve: 'P-384', ...made.client },
      // RFC 8422 §5.1.1: the curve of the certificate must be offered too.
      { maxVersion: 'TLSv1.2', ecdhCurve: 'X25519:P-256' },
    ]
    for (const each of options) expect((await requestOverTls(port, each)).status).toBe(200)
    const again = await requestOverTls(port, { ecdhCurve: 'P-521', session: first.session })

    const text = await (await fetch(`${admin}/metrics`)).text()
    const series = text.matchAll(/^lender_gateway_tls_handshakes_total\{version="(.+?)",group="(.+?)"\} (\d+)$/gm)
    const counts = [...series].map(([, version, group, count]) => `${version} ${group} ${count}`)
    const counted = ['X25519MLKEM768', 'secp256r1', 'secp384r1', 'secp521r1', 'x25519'].map(
      (group) => `TLSv1.3 ${group} 1`,
    )
    expect([again.resumed, counts.length]).toEqual([true, 14])
    expect(counts.filter((count) => !count.endsWith(' 0')).sort()).toEqual(['TLSv1.2 x25519 1', ...counted])
  })
})

// X.690: SEQUENCE { INTEGER 1, [19] { INTEGER group } }, and possible neighbors.
test.each([
  ['in one byte', '300a020101b305' + '020300001d', 29],
  ['in two bytes', '3009020101b304' + '020211ec', 4588],
  ['behind a member of 200 bytes', `3081d204${'81c8'}${'00'.repeat(200)}b303020117`, 23],
  ['that is not there', '3003020101', 0],
  ['that is cut short', '3009020101b304020211', 0],
  ['in a member that says more than there is', '300904ff', 0],
  ['of no bytes', '3005b302' + '0200', 0],
  ['in nothing', '', 0],
])('a group %s', (_, der, group) => {
  expect(readNegotiatedGroup(Buffer.from(der, 'hex'))).toBe(group)
})
