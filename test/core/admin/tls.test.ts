import { writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TLSSocket } from 'node:tls'
import { describe, expect, test } from 'vitest'
import { needCertificates, type Pair } from '../../helpers/certificates.ts'
import { bootLiveGateway } from '../../helpers/live-gateway.ts'
import { exchangeRaw } from '../../helpers/raw-client.ts'

const { made, missing } = await needCertificates()
const token = 'a-token-of-an-operator'

describe.skipIf(missing)('the operator’s listener with a certificate', () => {
  /** Boots a gateway whose certificate stands in files beside its configuration. */
  const boot = async ({ cert, key }: Pair) => {
    const live = await bootLiveGateway({ admin: { token, tls: { certificate: cert, key } } })
    const write = (pair: Pair): void => {
      writeFileSync(join(live.folder, 'tls.crt'), pair.cert)
      writeFileSync(join(live.folder, 'tls.key'), pair.key)
      live.edit({ admin: { token, tls: { certificate: 'file:tls.crt', key: 'file:tls.key' } } })
    }
    write({ cert, key })
    return { ...live, write, port: live.gateway.adminAddress.port }
  }

  /** Sends a request over TLS, trusting the authority; `serial` is that of the certificate. */
  const fetchTls = async (port: number, path: string, method = 'GET') => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const headers = { Authorization: `Bearer ${token}` }
    const options = { host: '127.0.0.1', port, path, method, ca: made.authority.cert, agent: false as const, headers }
    request(options, resolve).on('error', reject).end()
    const response = await promise
    const serial = (response.socket as TLSSocket).getPeerCertificate().serialNumber
    return { status: response.statusCode, serial, body: await text(response) }
  }

  test('serves TLS alone, takes a renewed certificate live, and keeps the old one where the new is not of its key, or none', async () => {
    const { port, write, edit } = await boot(made.right)
    const before = await fetchTls(port, '/reload', 'POST')
    const plain = await exchangeRaw(port, 'GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n').catch(() => '')

    write({ cert: made.expired.cert, key: made.right.key })
    const mismatched = await fetchTls(port, '/reload', 'POST')
    edit({ admin: { token } })
    const off = await fetchTls(port, '/reload', 'POST')
    const stillServed = await fetchTls(port, '/ready')
    write({ cert: made.wrongName.cert, key: made.wrongName.key })
    const renewed = await fetchTls(port, '/reload', 'POST')

    expect(plain).not.toMatch(/ready/)
    expect([before, mismatched, off, renewed].map(({ status }) => status)).toEqual([200, 422, 422, 200])
    expect(JSON.parse(mismatched.body).problems).toEqual([
      expect.objectContaining({ path: 'admin.tls.key', message: 'the key does not belong to the certificate' }),
    ])
    expect(JSON.parse(off.body).problems).toEqual([expect.objectContaining({ path: 'admin.tls' })])
    expect(mismatched.body + renewed.body).not.toMatch(/BEGIN|operator/)
    expect(new Set([before, mismatched, stillServed, renewed].map(({ serial }) => serial)).size).toBe(1)
    await expect(fetchTls(port, '/ready')).rejects.toThrow(/altname|ERR_TLS_CERT_ALTNAME_INVALID/i)
  })
})
