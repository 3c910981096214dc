import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished } from 'vitest'
import { folderWith } from '../core/config/helper.ts'
import { type Certificates, makeCertificates, type Pair } from '../helpers/certificates.ts'
import { bootGateway, configText } from '../helpers/gateway.ts'
import { httpsUpstream } from '../helpers/https-upstream.ts'
import { listen } from '../helpers/listen.ts'
import { bootLiveGateway, fetchAdmin } from '../helpers/live-gateway.ts'
import { needProgram } from '../helpers/program.ts'
import { serve, waitForListening } from '../helpers/serve-process.ts'
import { drill, test } from '../helpers/speed.ts'
import { switchVerificationOff } from '../helpers/unverified-tls.ts'
import { call } from '../helpers/wire.ts'

const openssl = await needProgram('openssl')

// connector-tls.test.ts has the verification of endpoints; these tests check the client's response, and the
// configuration.
describe.skipIf(openssl.missing !== null)('an https upstream', () => {
  let made: Certificates
  let ca: string
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
    ca = made.authority.cert
  })

  const upload = { method: 'POST', target: '/valuation/score', body: Buffer.alloc(200_000) }

  /** Boots a gateway that speaks to a port as configured. */
  const speaking = (port: number, tls: object) =>
    bootGateway({ upstream: { endpoints: [`https://localhost:${port}`], tls } })

  /** Sends requests with and without a body; returns the codes of the two 502. */
  const codes = async ({ port }: { readonly port: number }): Promise<readonly unknown[]> => {
    const responses = [await call(port), await call(port, upload)]
    expect(responses.map(({ status }) => status)).toEqual([502, 502])
    return responses.map(({ body }) => JSON.parse(body.toString()).code)
  }

  test('an https upstream gets its server name, its own Host, and the client certificate that it demands', async () => {
    const { port } = await httpsUpstream(made.wrongName, { ca, requestCert: true })
    const { cert: certificate, key } = made.client
    const gateway = await speaking(port, { ca, serverName: 'other.test', certificate, key })

    const response = await call(gateway.port, upload)

    expect(response.status).toBe(200)
    expect(JSON.parse(response.body.toString())).toEqual({ servername: 'other.test', host: `localhost:${port}` })
  })

  test('an https upstream that is not verified is 502 tls-failed, and gets no request, even with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
    const { port, requests } = await httpsUpstream(made.selfSigned)
    const gateway = await speaking(port, { ca })

    const response = await call(gateway.port)
    switchVerificationOff()
    const codesThen = await codes(gateway)

    expect(response.body.toString()).not.toMatch(/self-signed/)
    const line = await gateway.line(({ failure }) => failure === 'tls-failed')
    expect(JSON.stringify(line.cause)).toMatch(/self-signed/)
    expect([codesThen, requests()]).toEqual([['tls-failed', 'tls-failed'], 0])
  })

  test.each([
    // RFC 5246 §7.3: the server judges before the handshake is over.
    ['TLSv1.2', 'tls-failed'],
    // RFC 8446 §4.4.2.4: the client has finished by then, and the request was on its way.
    ['TLSv1.3', 'reset-before-headers'],
  ] as const)(
    'that demands a certificate and is shown none says so in its time (%s): 502 %s',
    async (maxVersion, code) => {
      const { port, requests } = await httpsUpstream(made.right, { ca, requestCert: true, maxVersion })

      expect([await codes(await speaking(port, { ca })), requests()]).toEqual([[code, code], 0])
    },
  )

  test('an https upstream is verified under its own name, whatever Host is sent', async () => {
    const [right, wrong] = [await httpsUpstream(made.right), await httpsUpstream(made.wrongName)]
    const hosted = (port: number, host: string) => ({ endpoints: [`https://localhost:${port}`], host, tls: { ca } })
    const { port } = await bootGateway({
      upstreams: { market: hosted(right.port, 'client'), leads: hosted(wrong.port, 'other.test') },
    })

    const targets = ['/market/insights', '/leads/pipeline']
    const responses = await Promise.all(targets.map((target) => call(port, { target, fields: ['Host', 'other.test'] })))

    expect(responses.map(({ body }) => JSON.parse(body.toString()))).toMatchObject([
      { servername: 'localhost', host: 'other.test' },
      { code: 'tls-failed' },
    ])
    expect(wrong.requests()).toBe(0)
  })

  test('an https upstream is trusted by the file of its authority, which a reload reads again', async () => {
    const { port } = await httpsUpstream(made.right)
    const file = join(folderWith({ 'ca.pem': made.selfSigned.cert }), 'ca.pem')
    const endpoints = [`https://localhost:${port}`]
    const live = await bootLiveGateway({ upstreams: { market: { endpoints, tls: { ca: `file:${file}` } } } })

    const before = await call(live.port)
    writeFileSync(file, ca)
    await live.gateway.reload('signal')

    expect([before.status, (await call(live.port)).status]).toEqual([502, 200])
  })

  test('an https upstream is trusted by an authority that the process trusts', async () => {
    const upstream = await httpsUpstream(made.right)
    const authorities = getCACertificates('default')
    onTestFinished(() => setDefaultCACertificates(authorities))
    setDefaultCACertificates([ca])

    expect((await call((await speaking(upstream.port, {})).port)).status).toBe(200)
  })

  drill('is trusted by NODE_EXTRA_CA_CERTS', async () => {
    const upstream = await httpsUpstream(made.right)
    const text = configText({ upstream: `https://localhost:${upstream.port}` })
    const folder = folderWith({ 'gateway.yaml': text, 'authority.pem': ca })

    const served = serve(join(folder, 'gateway.yaml'), { NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') })

    expect((await call(await waitForListening(served))).status).toBe(200)
  })

  // A renewal has no edit: the file of the certificate changes, and connections to all endpoints are new.
  test('an https upstream that is down stays down when the client certificate of the gateway is renewed', async () => {
    /** Opens an endpoint that asks for a client certificate; returns the names in the certificates of its requests. */
    const open = async (status: number) => {
      const asked: string[] = []
      const server = createServer({ ...made.right, ca, requestCert: true }, ({ url, socket }, response) => {
        if (url !== '/health') asked.push(String((socket as TLSSocket).getPeerCertificate().subject.CN))
        response.writeHead(status).end()
      })
      return { url: `https://localhost:${await listen(server)}`, asked }
    }
    const [well, ill] = [await open(200), await open(500)]
    const folder = folderWith({})
    const present = ({ cert, key }: Pair): void => {
      writeFileSync(join(folder, 'client.pem'), cert)
      writeFileSync(join(folder, 'client.key'), key)
    }
    present(made.client)
    const tls = { ca, certificate: `file:${folder}/client.pem`, key: `file:${folder}/client.key` }
    const healthCheck = { path: '/health', interval: '1s' }
    const live = await bootLiveGateway({ upstreams: { market: { endpoints: [well.url, ill.url], tls, healthCheck } } })
    const upstreams = async () => (await fetchAdmin(`${live.admin}/status`)).body.upstreams
    await expect.poll(upstreams).toMatchObject({ market: { endpoints: [{ state: 'up' }, { state: 'down' }] } })

    present(made.bankA)
    const { result } = await live.gateway.reload('signal')
    const ask = async (): Promise<number> => (await call(live.gateway.address.port)).status
    const statuses = await Promise.all(Array.from({ length: 8 }, ask))

    expect([result, new Set(statuses)]).toEqual(['applied', new Set([200])])
    expect([new Set(well.asked), ill.asked]).toEqual([new Set(['bank-a']), []])
  })
})
