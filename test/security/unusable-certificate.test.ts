import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { validateKeyPair } from '../../src/core/config/certificates.ts'
import { makeCertificates } from '../helpers/certificates.ts'
import { needProgram } from '../helpers/program.ts'

const openssl = await needProgram('openssl')

// The attack: a certificate and a key that belong together, and that TLS does not take all the same: a key that is too
// short, a chain that is cut off. `check` called the file sound, and a gateway that restarted with it did not start.
describe.skipIf(openssl.missing)('a pair that TLS does not take', () => {
  let pairs: Readonly<Record<string, { readonly certificate: string; readonly key: string }>> = {}
  beforeAll(() => {
    const { right, authority } = makeCertificates(openssl.path ?? '')
    const short = makeShort(openssl.path ?? '')
    const cut = authority.cert.slice(0, 300)
    const empty = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
    pairs = {
      short,
      cut: { certificate: right.cert + cut, key: right.key },
      empty: { certificate: right.cert + empty, key: right.key },
    }
  })

  test.each([
    ['short', 'ee key too small'],
    ['cut', 'bad end line'],
    ['empty', 'wrong tag'],
  ])('is a problem of the file, which quotes neither: %s', (name, found) => {
    const pair = pairs[name] ?? { certificate: '', key: '' }

    const findings = validateKeyPair(['admin', 'tls'], pair)

    expect(findings).toEqual([expect.objectContaining({ path: ['admin', 'tls', 'certificate'], found })])
    const printed = JSON.stringify(findings)
    for (const line of `${pair.certificate}${pair.key}`.split('\n').filter((text) => /^[\w+/=]{16,}$/.test(text)))
      expect(printed).not.toContain(line)
  })
})

/** Makes a pair whose key is shorter than TLS takes. */
const makeShort = (program: string): { readonly certificate: string; readonly key: string } => {
  const folder = mkdtempSync(join(tmpdir(), 'short-'))
  const made = ['-keyout', 'key', '-out', 'certificate', '-subj', '/CN=short']
  execFileSync(program, ['req', '-x509', '-newkey', 'rsa:1024', '-nodes', ...made], { cwd: folder, stdio: 'ignore' })
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const pair = { certificate: read('certificate'), key: read('key') }
  rmSync(folder, { recursive: true })
  return pair
}
