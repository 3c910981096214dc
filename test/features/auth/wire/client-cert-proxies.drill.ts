/** Knows clients by the certificate that a real Apache and a real HAProxy pass on, by the lines of the docs. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Certificates, makeCertificates, type Pair } from '../../../helpers/certificates.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { debianFile, needProgram } from '../../../helpers/program.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'

const apache = await needProgram('apache2')
const haproxy = await needProgram('haproxy')
const openssl = await needProgram('openssl')
const sslModule = await debianFile('/usr/lib/apache2/modules/mod_ssl.so', 'apache2-bin')
const page = readFileSync(new URL('../../../../docs/identity-possession.md', import.meta.url), 'utf8')

const documented = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(page)?.[1] ?? ''

const modules = ['mpm_event', 'authz_core', 'headers', 'ssl', 'proxy', 'proxy_http', 'socache_shmcb']

/** Starts a proxy with a file until the test has finished. */
const start = (path: string, file: string, config: string, toArgs: (file: string) => readonly string[]): void => {
  writeFileSync(file, config)
  const child = spawn(path, toArgs(file), { stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
}

interface Place {
  readonly made: Certificates
  readonly folder: string
  readonly port: number
  readonly gatewayPort: number
}

const proxies: readonly (readonly [string, string | null, (place: Place) => void])[] = [
  [
    'Apache',
    apache.missing ?? sslModule.missing,
    ({ made, folder, port, gatewayPort }) => {
      writeFileSync(join(folder, 'server.crt'), made.right.cert)
      writeFileSync(join(folder, 'server.key'), made.right.key)
      const lines = documented('apache')
        .replaceAll('/etc/apache2', folder)
        .replace('10.0.0.11:8080', `127.0.0.1:${gatewayPort}`)
      const loaded = modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`)
      const config = `${loaded.join('\n')}
PidFile ${folder}/pid
DefaultRuntimeDir ${folder}
ServerName localhost
ErrorLog ${folder}/log
Listen 127.0.0.1:${port}
<VirtualHost 127.0.0.1:${port}>
SSLEngine on
SSLCertificateFile ${folder}/server.crt
SSLCertificateKeyFile ${folder}/server.key
${lines}
</VirtualHost>
`
      start(apache.path ?? '', join(folder, 'httpd.conf'), config, (file) => ['-X', '-f', file])
    },
  ],
  [
    'HAProxy',
    haproxy.missing,
    ({ made, folder, port, gatewayPort }) => {
      writeFileSync(join(folder, 'lender.pem'), `${made.right.key}\n${made.right.cert}`)
      const lines = documented('haproxy')
        .replaceAll('/etc/haproxy', folder)
        .replace('bind :443', `bind 127.0.0.1:${port}`)
      const config = `defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
${lines}
backend lender_gateway
    server a 127.0.0.1:${gatewayPort}
`
      start(haproxy.path ?? '', join(folder, 'haproxy.cfg'), config, (file) => ['-db', '-f', file])
    },
  ],
]

describe.skipIf(openssl.missing)('Client-Cert (RFC 9440)', () => {
  test.each(proxies.filter(([, missing]) => missing === null))(
    'by %s is that of the connection, whatever the client writes',
    async (_, _missing, startProxy) => {
      const made = makeCertificates(openssl.path ?? '')
      const folder = mkdtempSync(join(tmpdir(), 'client-cert-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      writeFileSync(join(folder, 'clients-ca.pem'), made.authority.cert)
      const gateway = await bootGateway({
        listen: { trustedProxies: ['127.0.0.1'] },
        auth: { methods: ['mtls'], mtls: { from: 'client-cert', ca: made.authority.cert } },
        clients: [{ id: 'bank-a', certificates: ['dns:bank-a.example'], operations: 'all' }],
      })
      const port = await freePort()
      startProxy({ made, folder, port, gatewayPort: gateway.port })
      const der = Buffer.from(made.bankA.cert.replaceAll(/-----[A-Z ]+-----|\s/g, ''), 'base64').toString('base64')
      const statusOf = async (shown: Partial<Pair>, ...fields: readonly string[]): Promise<number> =>
        (await requestOverTls(port, shown, fields)).status

      await expect.poll(() => statusOf(made.bankA), { timeout: 30_000 }).toBe(200)
      const forged = `Client-Cert: :${der}:`
      expect({
        nothing: await statusOf({}),
        forged: await statusOf({}, forged),
        forgedTwin: await statusOf({}, forged.replace('-', '_')),
        forgedBesideAnother: await statusOf(made.client, forged),
        forgedBesideItsOwn: await statusOf(made.bankA, 'Client-Cert: :AAAA:', 'Client-Cert-Chain: :AAAA:'),
        // HAProxy ends the handshake, Apache responds with 403 or ends it: no request reaches the gateway.
        ofAnother: (await statusOf(made.forgedA)) === 200,
      }).toEqual({
        nothing: 401,
        forged: 401,
        forgedTwin: 401,
        forgedBesideAnother: 403,
        forgedBesideItsOwn: 200,
        ofAnother: false,
      })
      expect(gateway.lines.filter(({ status, client }) => status === 200 && client === undefined)).toEqual([])
    },
  )
})
