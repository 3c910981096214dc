import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Certificates, makeCertificates, type Pair } from '../helpers/certificates.ts'
import { bootGateway, configText } from '../helpers/gateway.ts'
import { httpsUpstream } from '../helpers/https-upstream.ts'
import { needProgram } from '../helpers/program.ts'
import { switchVerificationOff } from '../helpers/unverified-tls.ts'
import { call, fieldValues } from '../helpers/wire.ts'

const openssl = await needProgram('openssl')

describe.skipIf(openssl.missing !== null)('an https upstream', () => {
  let made: Certificates
  const ordinary = getCACertificates('default')

  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
    // For this process; what an operator does is NODE_EXTRA_CA_CERTS, below.
    setDefaultCACertificates([...ordinary, made.authority.cert])
  })
  afterAll(() => setDefaultCACertificates(ordinary))

  test.each(['127.0.0.1', 'localhost'])('with a valid certificate serves (%s)', async (host) => {
    const { port } = await httpsUpstream(made.right)
    const booted = await bootGateway({ upstream: `https://${host}:${port}` })

    const response = await call(booted.port, {
      method: 'POST',
      target: '/valuation/score',
      body: Buffer.alloc(200_000),
    })

    expect(response.status).toBe(200)
    // RFC 6066 §3: an address is never indicated.
    const servername = host === 'localhost' ? 'localhost' : false
    expect(JSON.parse(response.body.toString())).toEqual({ servername, host: `${host}:${port}` })
  })

  const bad: readonly (readonly [string, (made: Certificates) => Pair, RegExp])[] = [
    ['signed by itself', ({ selfSigned }) => selfSigned, /self-signed/],
    ['for another name', ({ wrongName }) => wrongName, /altnames/],
    ['that has expired', ({ expired }) => expired, /expired/],
  ]

  test.each(bad)('with a certificate %s is 502 tls-failed, and nothing is sent', async (_, pick, cause) => {
    const { port, requests } = await httpsUpstream(pick(made))
    const booted = await bootGateway({ upstream: `https://localhost:${port}` })

    const response = await call(booted.port)

    expect(response.status).toBe(502)
    expect(JSON.parse(response.body.toString())).toMatchObject({ code: 'tls-failed' })
    expect(response.body.toString()).not.toMatch(cause)
    expect(requests()).toBe(0)
    const line = await booted.line(({ failure }) => failure === 'tls-failed')
    expect(JSON.stringify(line.cause)).toMatch(cause)
  })

  test.each(bad.slice(0, 1))(
    'with a certificate %s is rejected under NODE_TLS_REJECT_UNAUTHORIZED=0 too',
    async (_, pick) => {
      const { port, requests } = await httpsUpstream(pick(made))
      const booted = await bootGateway({ upstream: `https://localhost:${port}` })
      switchVerificationOff()

      const response = await call(booted.port)

      expect(JSON.parse(response.body.toString())).toMatchObject({ code: 'tls-failed' })
      expect(requests()).toBe(0)
    },
  )

  test('is verified under its own name, whatever Host is sent', async () => {
    const right = await httpsUpstream(made.right)
    const wrong = await httpsUpstream(made.wrongName)
    const hosted = (port: number, host: string) => ({ endpoints: [`https://localhost:${port}`], host })
    const booted = await bootGateway({
      upstream: 'sandbox',
      upstreams: {
        market: hosted(right.port, 'client'),
        leads: hosted(wrong.port, 'client'),
        analysis: hosted(wrong.port, 'other.test'),
      },
    })
    const fields = ['Host', 'other.test']

    const market = await call(booted.port, { target: '/market/insights', fields })
    const leads = await call(booted.port, { target: '/leads/pipeline', fields })
    const analysis = await call(booted.port, { target: '/analysis/esg-grant', fields })

    expect(JSON.parse(market.body.toString())).toEqual({ servername: 'localhost', host: 'other.test' })
    for (const response of [leads, analysis])
      expect(JSON.parse(response.body.toString())).toMatchObject({ code: 'tls-failed' })
    expect(wrong.requests()).toBe(0)
  })

  test('that speaks no TLS is 502 tls-failed', async () => {
    const { createServer: plainServer } = await import('node:http')
    const server = plainServer((_request, response) => void response.end('plain'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const booted = await bootGateway({ upstream: `https://localhost:${(server.address() as AddressInfo).port}` })

    const answer = await call(booted.port)

    expect(answer.status).toBe(502)
    expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 'tls-failed' })
  })

  describe('behind a gateway in a process of its own', () => {
    /** Starts `serve` with an environment and returns the port that it listens on. */
    const serve = async (origin: string, env: Readonly<Record<string, string>>): Promise<number> => {
      const folder = mkdtempSync(join(tmpdir(), 'gateway-'))
      writeFileSync(join(folder, 'gateway.yaml'), configText({ upstream: origin }))
      writeFileSync(join(folder, 'authority.pem'), made.authority.cert)
      const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
      const child = spawn(process.execPath, [main, 'serve', '--config', 'gateway.yaml'], {
        cwd: folder,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      onTestFinished(() => {
        child.kill('SIGKILL')
        rmSync(folder, { recursive: true })
      })
      for await (const line of createInterface(child.stdout)) {
        const { msg, port } = JSON.parse(line) as { readonly msg: string; readonly port: number }
        if (msg !== 'listening') continue
        child.stdout.resume()
        return port
      }
      throw new Error('serve ended before it listened')
    }

    test('is trusted by NODE_EXTRA_CA_CERTS', async () => {
      const { port } = await httpsUpstream(made.right)
      const trusting = await serve(`https://localhost:${port}`, { NODE_EXTRA_CA_CERTS: 'authority.pem' })

      const trusted = await call(trusting)

      expect(trusted.status).toBe(200)
      expect(fieldValues(trusted.fields, 'content-length')).toHaveLength(1)
    })
  })
})
