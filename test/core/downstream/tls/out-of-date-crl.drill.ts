/** An out-of-date revocation list rejects full handshakes, but no session that a client resumes. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { makeCertificates, type Pair } from '../../../helpers/certificates.ts'
import { needProgram } from '../../../helpers/program.ts'
import { requestOverTls } from '../../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../../helpers/tls-gateway.ts'

const openssl = await needProgram('openssl')

/** Makes an empty list that expires after some seconds. */
const listFor = (seconds: number, { key, cert }: Pair): string => {
  const folder = mkdtempSync(join(tmpdir(), 'crl-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries({ key, cert, index: '' })) writeFileSync(join(folder, name), text)
  writeFileSync(join(folder, 'cnf'), '[ca]\ndefault_ca = test\n[test]\ndatabase = index\ndefault_md = sha256\n')
  const made = ['-config', 'cnf', '-gencrl', '-crlsec', String(seconds), '-keyfile', 'key', '-cert', 'cert']
  const stdio: ('ignore' | 'pipe')[] = ['ignore', 'pipe', 'ignore']
  return execFileSync(openssl.path ?? '', ['ca', ...made], { cwd: folder, stdio, encoding: 'utf8' })
}

test.skipIf(openssl.missing)(
  'a list that is out of date rejects full handshakes, and not a session that is resumed',
  async () => {
    const made = makeCertificates(openssl.path ?? '')
    // Long enough for the first handshakes on a busy machine.
    const { port, line } = await bootTlsGateway(made.right, {
      clientCertificates: 'required',
      clientCa: made.authority.cert,
      clientCrl: [listFor(20, made.authority)],
    })
    const versions = ['TLSv1.2', 'TLSv1.3'] as const
    const options = versions.map((version) => ({ minVersion: version, maxVersion: version, ...made.client }))
    const first = await Promise.all(options.map((only) => requestOverTls(port, only)))
    expect(first.map(({ status }) => status)).toEqual([200, 200])

    await expect
      .poll(async () => (await requestOverTls(port, options[0])).status, { timeout: 60_000, interval: 500 })
      .toBe(0)
    expect((await requestOverTls(port, options[1])).status).toBe(0)
    const resumed = await Promise.all(
      options.map((only, nth) => requestOverTls(port, { ...only, session: first[nth]?.session })),
    )

    expect(resumed.map((each) => [each.resumed, each.status])).toEqual([
      [true, 200],
      [true, 200],
    ])
    await line(({ msg, reason }) => msg === 'handshake failed' && reason === 'CRL_HAS_EXPIRED')
  },
)
