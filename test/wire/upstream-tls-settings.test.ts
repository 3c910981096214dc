import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Certificates, makeCertificates } from '../helpers/certificates.ts'
import { bootGateway } from '../helpers/gateway.ts'
import { httpsUpstream } from '../helpers/https-upstream.ts'
import { bootLiveGateway, fetchAdmin } from '../helpers/live-gateway.ts'
import { needProgram } from '../helpers/program.ts'
import { call } from '../helpers/wire.ts'

const openssl = await needProgram('openssl')

describe.skipIf(openssl.missing !== null)('an https upstream with settings of its own', () => {
  let made: Certificates
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
  })

  /** Boots a gateway that speaks to a port as configured. */
  const speaking = (port: number, tls: object) =>
    bootGateway({ upstream: { endpoints: [`https://localhost:${port}`], tls } })

  test('is trusted by its own authority, and by no other', async () => {
    const [own, ordinaryOne] = await Promise.all([httpsUpstream(made.selfSigned), httpsUpstream(made.right)])
    const ca = made.selfSigned.cert
    const [trusting, doubting] = [await speaking(own.port, { ca }), await speaking(ordinaryOne.port, { ca })]

    const trusted = await call(trusting.port)
    const doubted = await call(doubting.port)

    expect(trusted.status).toBe(200)
    expect(JSON.parse(doubted.body.toString())).toMatchObject({ code: 'tls-failed' })
    expect(ordinaryOne.requests()).toBe(0)
  })

  test('is trusted as the file of its authority says, which is read again when it changes', async () => {
    const { port } = await httpsUpstream(made.right)
    const folder = mkdtempSync(join(tmpdir(), 'gateway-ca-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const ca = join(folder, 'ca.pem')
    writeFileSync(ca, made.selfSigned.cert)
    const live = await bootLiveGateway({
      upstreams: { market: { endpoints: [`https://localhost:${port}`], tls: { ca: `file:${ca}` } } },
      reload: { watch: true, poll: '100ms' },
    })
    const ask = async () => (await call(live.gateway.address.port)).status

    const before = await ask()
    writeFileSync(ca, made.authority.cert)
    await live.line(({ msg }) => msg === 'configuration applied')

    expect([before, await ask()]).toEqual([502, 200])
  })

  test('is asked for the server name, and sent its own Host', async () => {
    const { port } = await httpsUpstream(made.wrongName)
    const booted = await speaking(port, { ca: made.authority.cert, serverName: 'other.test' })

    const response = await call(booted.port)

    expect(JSON.parse(response.body.toString())).toEqual({ servername: 'other.test', host: `localhost:${port}` })
  })

  test('is believed whatever it shows when nothing is verified', async () => {
    const { port } = await httpsUpstream(made.expired)
    const booted = await speaking(port, { verify: false, insecure: true })

    const response = await call(booted.port)

    expect(response.status).toBe(200)
  })

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('is shown the certificate that it demands (%s)', async (version) => {
    const demanding = { ca: made.authority.cert, requestCert: true, maxVersion: version }
    const { port } = await httpsUpstream(made.right, demanding)
    const booted = await speaking(port, {
      ca: made.authority.cert,
      certificate: made.client.cert,
      key: made.client.key,
    })

    const response = await call(booted.port, {
      method: 'POST',
      target: '/valuation/score',
      body: Buffer.alloc(200_000),
    })

    expect(response.status).toBe(200)
  })

  test.each([
    // RFC 5246 §7.3: the server judges before the handshake is over.
    ['TLSv1.2', 'tls-failed'],
    // RFC 8446 §4.4.2.4: the client has finished by then, and the request was on its way.
    ['TLSv1.3', 'reset-before-headers'],
  ] as const)('that is not shown one says so in its time (%s): 502 %s', async (version, code) => {
    const demanding = { ca: made.authority.cert, requestCert: true, maxVersion: version }
    const { port, requests } = await httpsUpstream(made.right, demanding)
    const booted = await speaking(port, { ca: made.authority.cert })

    const responses = [
      await call(booted.port),
      await call(booted.port, { method: 'POST', target: '/valuation/score', body: Buffer.alloc(200_000) }),
    ]

    for (const response of responses) {
      expect(response.status).toBe(502)
      expect(JSON.parse(response.body.toString())).toMatchObject({ code })
    }
    expect(requests()).toBe(0)
  })

  test('that rejects the certificate that it is shown is 502 reset-before-headers (TLS 1.3)', async () => {
    const { port, requests } = await httpsUpstream(made.right, { ca: made.authority.cert, requestCert: true })
    const { key, cert } = made.selfSigned
    const booted = await speaking(port, { ca: made.authority.cert, certificate: cert, key })

    const response = await call(booted.port, {
      method: 'POST',
      target: '/valuation/score',
      body: Buffer.alloc(200_000),
    })

    expect(response.status).toBe(502)
    expect(JSON.parse(response.body.toString())).toMatchObject({ code: 'reset-before-headers' })
    expect(requests()).toBe(0)
  })

  test('that speaks an older version only is 502 tls-failed', async () => {
    const { port } = await httpsUpstream(made.right, { maxVersion: 'TLSv1.2' })
    const booted = await speaking(port, { ca: made.authority.cert, minVersion: 'TLSv1.3' })

    const response = await call(booted.port)

    expect(JSON.parse(response.body.toString())).toMatchObject({ code: 'tls-failed' })
  })
})

// A renewal has no edit: the file of the certificate changes, and connections to all endpoints are new.
test.skipIf(openssl.missing !== null)(
  'an endpoint that is down stays so when the client certificate of the gateway is renewed',
  async () => {
    const { authority, bankA, client, right } = makeCertificates(openssl.path ?? '')
    /** Opens an endpoint that asks for a client certificate, and returns the names in those that requests had. */
    const open = async (status: number) => {
      const asked: string[] = []
      const options = { key: right.key, cert: right.cert, ca: authority.cert, requestCert: true }
      const server = createServer(options, ({ url, socket }, response) => {
        const { subject } = (socket as TLSSocket).getPeerCertificate()
        if (url !== '/health') asked.push(String(subject.CN))
        response.writeHead(status).end()
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => {
        server.close()
        server.closeAllConnections()
      })
      return { url: `https://localhost:${(server.address() as AddressInfo).port}`, asked }
    }
    const [well, ill] = [await open(200), await open(500)]
    const live = await bootLiveGateway()
    const present = ({ cert, key }: typeof client): void => {
      writeFileSync(join(live.folder, 'client.pem'), cert)
      writeFileSync(join(live.folder, 'client.key'), key)
    }
    const reload = () => live.gateway.reload('signal')
    const ask = async (): Promise<number> => (await fetch(`${live.url}/market/insights`)).status
    present(client)
    live.edit({
      upstreams: {
        market: {
          endpoints: [well.url, ill.url],
          tls: { ca: authority.cert, certificate: 'file:client.pem', key: 'file:client.key' },
          healthCheck: { path: '/health', interval: '1s' },
        },
      },
    })
    await reload()
    const upstreams = async () => (await fetchAdmin(`${live.admin}/status`)).body.upstreams
    await expect.poll(upstreams).toMatchObject({ market: { endpoints: [{ state: 'up' }, { state: 'down' }] } })

    present(bankA)
    const { result } = await reload()
    const statuses = await Promise.all(Array.from({ length: 20 }, ask))

    expect(result).toBe('applied')
    expect(statuses).toEqual(Array(20).fill(200))
    expect([new Set(well.asked), ill.asked]).toEqual([new Set(['bank-a']), []])
  },
)
