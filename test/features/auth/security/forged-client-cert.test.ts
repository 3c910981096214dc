import { beforeAll, describe, expect, test } from 'vitest'
import { type Certificates, makeCertificates } from '../../../helpers/certificates.ts'
import { clientCertField } from '../../../helpers/client-cert.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { receivedNames, roundTrip } from '../../../helpers/round-trip.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const openssl = await needProgram('openssl')

// The attack: the certificate of a client is no secret, so any client can write it into the field by which a proxy
// presents it, beside that of the proxy too; or write one of his own with a client's name in it, and let a proxy that
// trusts every client pass it on.
describe.skipIf(openssl.missing)('Client-Cert', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  const boot = async (trustedProxies: readonly string[], auth: object = {}) => {
    const upstream = await httpUpstream()
    const gateway = await bootGateway({
      upstream: upstream.url,
      listen: { trustedProxies },
      auth: {
        methods: ['mtls'],
        mtls: { from: 'client-cert', ca: made.authority.cert },
        credentials: 'forward',
        identityField: 'X-Client-Id',
        ...auth,
      },
      clients: [{ id: 'bank-a', operations: 'all', certificates: ['dns:bank-a.example'] }],
      operations: { 'leads.pipeline': { auth: 'none' } },
    })
    const send = async (lines: readonly string[], path = '/market/insights') => {
      const request = [`GET ${path} HTTP/1.1`, 'Host: gateway', 'Connection: close', ...lines, '\r\n']
      const { response, arrived } = await roundTrip(gateway.port, upstream, request.join('\r\n'))
      return { status: response.status, names: receivedNames(arrived[0]) }
    }
    return { ...gateway, send }
  }
  const shown = (pem: string): string => `Client-Cert: ${clientCertField(pem)}`

  test('is believed from a trusted proxy', async () => {
    const { send, line } = await boot(['127.0.0.1'])

    expect(await send([shown(made.bankA.cert)])).toMatchObject({
      status: 200,
      names: expect.arrayContaining(['client-cert', 'x-client-id']),
    })
    expect(await line(({ status }) => status === 200)).toMatchObject({ clientId: 'bank-a', auth: 'mtls' })
  })

  test('of any other peer proves nothing, and goes no further', async () => {
    const { send } = await boot(['192.0.2.1'])
    const chain = `Client-Cert-Chain: ${clientCertField(made.authority.cert)}`

    expect((await send([shown(made.bankA.cert), chain])).status).toBe(401)
    const passed = await send(
      [shown(made.bankA.cert), chain, 'client_cert: x', 'Client-Cert_Chain: x'],
      '/leads/pipeline',
    )
    expect(passed.status).toBe(200)
    expect(passed.names.filter((name) => /^client[-_]cert/.test(name))).toEqual([])
  })

  test.each([
    ['twice', (own: string) => [own, own], 400],
    ['twice in one line', (own: string) => [`${own}, ${own.slice('Client-Cert: '.length)}`], 400],
    ['as text', () => ['Client-Cert: "certificate"'], 400],
    ['as what is no certificate', () => ['Client-Cert: :AQID:'], 400],
    ['empty', () => ['Client-Cert:'], 400],
    ['by its twin', (own: string) => [own.replace('-', '_')], 401],
  ])('%s is rejected from a trusted proxy too', async (_, lines, status) => {
    const { send } = await boot(['127.0.0.1'])

    expect((await send(lines(shown(made.bankA.cert)))).status).toBe(status)
  })

  test.each([
    ['that nobody has signed', 'forgedA', 'its certificate is of an unknown authority'],
    ['that has expired', 'expired', 'its certificate is not valid now'],
  ] as const)('with a certificate %s proves nothing', async (_, name, cause) => {
    const { send, line } = await boot(['127.0.0.1'])

    expect((await send([shown(made[name].cert)])).status).toBe(401)
    await line((told) => told.cause === cause)
  })

  test('goes no further than the gateway unless credentials are forwarded', async () => {
    const { send } = await boot(['127.0.0.1'], { credentials: 'strip' })

    const { status, names } = await send([shown(made.bankA.cert)])

    expect(status).toBe(200)
    expect(names).not.toContain('client-cert')
  })
})
