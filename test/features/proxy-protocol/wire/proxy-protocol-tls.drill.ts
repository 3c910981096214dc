/** A real HAProxy, hitch and stunnel end TLS in front: upstreams get https. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { startHaproxy } from '../../../helpers/haproxy.ts'
import { needProgram } from '../../../helpers/program.ts'
import { exchangeRaw } from '../../../helpers/raw-client.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

const haproxy = await needProgram('haproxy')
const hitch = await needProgram('hitch')
const stunnel = await needProgram('stunnel')
const openssl = await needProgram('openssl')
const deploying = readFileSync(new URL('../../../../docs/deploying.md', import.meta.url), 'utf8')

const bootBehindProxy = async (scheme: 'http' | 'https') => {
  const upstream = await httpUpstream()
  const proxyProtocol = { from: ['127.0.0.1'], scheme }
  return { ...(await bootGateway({ upstream: upstream.url, listen: { proxyProtocol } })), upstream }
}

/** A folder with a certificate and its key in one file, as all three programs read it. */
const pemFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'tls-in-front-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const { right } = makeCertificates(openssl.path ?? '')
  writeFileSync(join(folder, 'lender.pem'), `${right.key}\n${right.cert}`)
  return folder
}

/** Reads the lines of docs/deploying.md for a program. */
const documented = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(deploying)?.[1] ?? ''

/** Starts a program with a file, until the test has finished. Its log is dropped. */
const start = (path: string, folder: string, config: string, toArgs: (file: string) => readonly string[]): void => {
  const file = join(folder, 'program.conf')
  writeFileSync(file, config)
  const child = spawn(path, toArgs(file), { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
}

/** Sends a request through the port of a program that has just started; returns the upstream's fields. */
const protosOf = async (
  port: number,
  { upstream }: Awaited<ReturnType<typeof bootBehindProxy>>,
): Promise<readonly unknown[]> => {
  await expect.poll(async () => (await requestOverTls(port)).status, { timeout: 20_000 }).toBe(200)
  return receivedValues(upstream.requests[0], 'x-forwarded-proto')
}

describe.skipIf(haproxy.missing ?? openssl.missing)('behind HAProxy', () => {
  test.each([
    ['send-proxy-v2-ssl', 'http', 'https'],
    ['send-proxy-v2', 'https', 'https'],
    ['send-proxy', 'https', 'https'],
  ] as const)('that ends TLS, with %s and scheme: %s, it is %s', async (options, scheme, expected) => {
    const gateway = await bootBehindProxy(scheme)
    const backend = `backend gateways\n    server a 127.0.0.1:${gateway.port} ${options}\n`
    const ssl = `ssl crt ${join(pemFolder(), 'lender.pem')}`
    const balancer = await startHaproxy(haproxy.path ?? '', backend, 'tcp', ssl)
    onTestFinished(() => balancer.stop())

    expect(await protosOf(balancer.port, gateway)).toEqual([expected])
  })

  test('to which clients speak plain HTTP, with send-proxy-v2-ssl, it is http whatever the file says', async () => {
    const gateway = await bootBehindProxy('https')
    const backend = `backend gateways\n    server a 127.0.0.1:${gateway.port} send-proxy-v2-ssl\n`
    const balancer = await startHaproxy(haproxy.path ?? '', backend, 'tcp')
    onTestFinished(() => balancer.stop())

    await exchangeRaw(balancer.port, 'GET /market/insights HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')

    expect(receivedValues(gateway.upstream.requests[0], 'x-forwarded-proto')).toEqual(['http'])
  })
})

// It does not serve as root.
const asNobody = process.getuid?.() === 0 ? 'user = "nobody"\n' : ''

describe.skipIf(hitch.missing ?? openssl.missing)('behind hitch, by the lines of docs/deploying.md', () => {
  test.each([
    ['', 'http', 'https'],
    ['proxy-tlv = off', 'https', 'https'],
  ] as const)('with "%s" and scheme: %s, it is %s', async (more, scheme, expected) => {
    const [gateway, port, folder] = [await bootBehindProxy(scheme), await freePort(), pemFolder()]
    const config = documented('hitch')
      .replace('[*]:443', `[127.0.0.1]:${port}`)
      .replace('[10.0.0.11]:8080', `[127.0.0.1]:${gateway.port}`)
      .replace('/etc/hitch', folder)
    start(hitch.path ?? '', folder, `${config}workers = 1\n${asNobody}${more}\n`, (file) => [`--config=${file}`])

    expect(await protosOf(port, gateway)).toEqual([expected])
  })
})

test.skipIf(stunnel.missing ?? openssl.missing).each(['http', 'https'] as const)(
  'behind stunnel, by the lines of docs/deploying.md, it is what the file says: %s',
  async (scheme) => {
    const [gateway, port, folder] = [await bootBehindProxy(scheme), await freePort(), pemFolder()]
    const config = documented('stunnel')
      .replace('accept = 443', `accept = 127.0.0.1:${port}`)
      .replace('10.0.0.11:8080', `127.0.0.1:${gateway.port}`)
      .replace('/etc/stunnel', folder)
    start(stunnel.path ?? '', folder, `foreground = yes\npid =\nsyslog = no\n${config}`, (file) => [file])

    expect(await protosOf(port, gateway)).toEqual([scheme])
  },
)
