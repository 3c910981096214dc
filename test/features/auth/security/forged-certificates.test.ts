import type { X509Certificate } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { certificateThumbprint, mtlsAuthenticator } from '../../../../src/features/auth/client-certificate.ts'
import { getClientRegistry } from '../../../../src/features/auth/client-registry.ts'
import { needCertificates } from '../../../helpers/certificates.ts'
import { clientCertField } from '../../../helpers/client-cert.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { receivedNames, roundTrip } from '../../../helpers/round-trip.ts'

const { made, missing } = await needCertificates()

// The attack: a certificate is no secret, so a client writes another client's into the proxy's field, beside the
// proxy's own; or makes a certificate with that client's name, and a proxy that trusts every certificate passes it on.
describe.skipIf(missing)('Client-Cert', () => {
  const shown = (pem: string): string => `Client-Cert: ${clientCertField(pem)}`
  const mtls = { from: 'client-cert', ca: made.authority.cert }
  const settings = (trustedProxy: string, credentials: string) => ({
    listen: { trustedProxies: [trustedProxy] },
    auth: { methods: ['mtls'], mtls, credentials, identityField: 'X-Client-Id' },
    clients: [{ id: 'bank-a', operations: 'all', certificates: ['dns:bank-a.example'] }],
    operations: { 'leads.pipeline': { auth: 'none' } },
  })
  const proxied = liveGatewayForAll(settings('127.0.0.1', 'forward'))
  const stripped = liveGatewayForAll(settings('192.0.2.1', 'strip'))
  const send = async ({ port, server }: typeof proxied, lines: readonly string[], path = '/market/insights') => {
    const request = [`GET ${path} HTTP/1.1`, 'Host: gateway', 'Connection: close', ...lines, '\r\n']
    const { response, arrived } = await roundTrip(port, server, request.join('\r\n'))
    return { status: response.status, names: receivedNames(arrived[0]) }
  }

  test('is believed from a trusted proxy', async () => {
    expect(await send(proxied, [shown(made.bankA.cert)])).toMatchObject({
      status: 200,
      names: expect.arrayContaining(['client-cert', 'x-client-id']),
    })
    const isServed = () => proxied.lines.find(({ status }) => status === 200)
    await expect.poll(isServed).toMatchObject({ clientId: 'bank-a', auth: 'mtls' })
  })

  test('of any other peer proves nothing, and goes no further', async () => {
    const chain = `Client-Cert-Chain: ${clientCertField(made.authority.cert)}`
    const all = [shown(made.bankA.cert), chain, 'client_cert: x', 'Client-Cert_Chain: x']

    expect((await send(stripped, all)).status).toBe(401)
    const passed = await send(stripped, all, '/leads/pipeline')
    expect(passed.status).toBe(200)
    expect(passed.names.filter((name) => /^client[-_]cert/.test(name))).toEqual([])
  })

  test('is rejected from a trusted proxy too where it is no single certificate, or none that is good now', async () => {
    const own = shown(made.bankA.cert)
    const causes = () => proxied.lines.map(({ cause }) => cause)

    expect((await send(proxied, [own, own])).status).toBe(400)
    for (const line of [own.replace('-', '_'), shown(made.forgedA.cert), shown(made.expired.cert)])
      expect((await send(proxied, [line])).status).toBe(401)
    await expect.poll(causes).toContain('its certificate is of an unknown authority')
    await expect.poll(causes).toContain('its certificate is not valid now')
  })
})

describe('the names in a certificate', () => {
  const client = (id: string, ...certificates: readonly string[]) => ({
    ...{ id, disabled: false, apiKeys: [], claims: {}, operations: null, addresses: [] },
    certificates,
  })
  const certificate = (subjectAltName: string, raw = 'der'): X509Certificate =>
    ({ raw: Buffer.from(raw), subjectAltName }) as X509Certificate
  const pinned = certificate('DNS:anybody.example', 'pinned')

  const clients = getClientRegistry([
    client('bank-a', 'dns:bank-a.example', 'uri:urn:bank:a'),
    client('bank-b', 'dns:bank-b.example'),
    client('bank-c', `sha256:${certificateThumbprint(pinned)}`),
  ])

  const whose = (shown: X509Certificate): unknown => {
    const method = mtlsAuthenticator(() => shown, clients, [])
    try {
      const { client: found } = method.authenticate(fakeExchange()) as { client: { id: string } | null }
      return { client: found?.id ?? null }
    } catch (error) {
      return (error as Error).cause
    }
  }

  // The attack: a client has the authority write another client's name, or a similar one, into its certificate.
  test('a certificate with the names of two clients is of neither', () => {
    expect(whose(certificate('DNS:bank-a.example, DNS:bank-b.example'))).toBe('its certificate is of several clients')
    expect(whose(certificate('DNS:bank-a.example', 'pinned'))).toBe('its certificate is of several clients')
  })

  test.each([
    ...['DNS:bank-a.example.evil.example', 'DNS:evil.bank-a.example', 'DNS:*.example', 'DNS:bank-a.example.', ''],
    ...['DNS:"bank-a.example\\u0000.evil.example"', 'URI:bank-a.example', 'email:bank-a.example', 'URI:urn:bank:A'],
    ...['URI:dns:bank-a.example', 'othername:UPN:bank-a.example', 'DirName:CN = bank-a.example'],
  ])('a certificate with only %s belongs to no client', (names) => {
    expect(whose(certificate(names))).toEqual({ client: null })
  })

  test('a certificate with a name of its own, in whatever case, or known as a whole, is its client’s', () => {
    expect(whose(certificate('DNS:BANK-A.example, URI:urn:bank:a, DNS:other.example'))).toEqual({
      client: 'bank-a',
    })
    expect(whose(pinned)).toEqual({ client: 'bank-c' })
  })
})
