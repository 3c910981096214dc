import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeCertificates } from '../helpers/certificates.ts'
import { needProgram } from '../helpers/program.ts'
import { bootTlsGateway } from '../helpers/tls-gateway.ts'

const [openssl, testssl] = [await needProgram('openssl'), await needProgram('testssl')]

/** One thing that testssl.sh has found out. */
interface Found {
  readonly id: string
  readonly severity: string
  readonly finding: string
}

// What settings decide, asked by an independent program: protocols, suites by their kind, renegotiation, compression
// and a fallback. Its attacks on an implementation take minutes, and are OpenSSL's to answer.
describe.skipIf(openssl.missing ?? testssl.missing)('testssl.sh', () => {
  test('finds nothing above LOW', { timeout: 1_200_000 }, async () => {
    const { port } = await bootTlsGateway(makeCertificates(openssl.path ?? '').right)

    const found = await scan(port)

    const severities = new Map(found.map(({ id, severity }) => [id, severity]))
    expect(found.filter(({ severity }) => /MEDIUM|HIGH|CRITICAL|FATAL/.test(severity))).toEqual([])
    // That it asked at all.
    expect(severities.get('TLS1')).toBe('INFO')
    expect(severities.get('TLS1_3')).toBe('OK')
    expect(severities.get('secure_client_renego')).toBe('OK')
    expect(found.length).toBeGreaterThan(15)
  })
})

const scan = async (port: number): Promise<readonly Found[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'testssl-'))
  const file = join(folder, 'found.json')
  const quick = ['--nodns', 'none', '--warnings', 'batch', '--quiet', '--color', '0']
  const args = ['-p', '-s', '-R', '-C', '-Z', ...quick, '--jsonfile', file, `127.0.0.1:${port}`]
  try {
    await new Promise<void>((resolve) => {
      // It exits with the number of what it does not like; what it found stands in the file.
      execFile(testssl.path ?? '', args, { cwd: folder, timeout: 1_140_000 }, () => resolve())
    })
    return JSON.parse(readFileSync(file, 'utf8')) as Found[]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
