import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { renderEffectiveConfig } from '../../../src/core/config/diff/report.ts'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { formatProblems } from '../../../src/core/config/problem.ts'
import { type Certificates, makeCertificates } from '../../helpers/certificates.ts'
import { needProgram } from '../../helpers/program.ts'
import { folderWith, sandbox, withRisk } from './helper.ts'

const openssl = await needProgram('openssl')

/** Loads a configuration whose admin listener has these two files. */
const load = (certificate: string, key: string) => {
  const text = `admin:\n  tls:\n    certificate: file:tls.crt\n    key: file:tls.key\n${sandbox}\n`
  const folder = folderWith({ 'gateway.yaml': text, 'tls.crt': certificate, 'tls.key': key })
  return loadConfig(join(folder, 'gateway.yaml'), {})
}

describe.skipIf(openssl.missing !== null)('a certificate and its key', () => {
  let made: Certificates
  let locked: string

  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
    const lock = ['pkey', '-aes256', '-passout', 'pass:a']
    locked = execFileSync(openssl.path ?? '', lock, { input: made.right.key, encoding: 'utf8' })
  })

  test('of which one is no PEM are rejected with the name of its file, and nothing of what is in it', () => {
    const loaded = load('rubbish', made.right.key)

    const problems = loaded.ok ? [] : loaded.problems
    const found = 'the contents of file:tls.crt'
    expect(problems).toMatchObject([{ message: 'not a certificate in PEM', found, line: 3 }])
    expect(formatProblems(problems)).not.toContain('rubbish')
  })

  test('are loaded as they stand, lines, chain and all', () => {
    const chain = `${made.right.cert}${made.authority.cert}`

    const loaded = load(chain, made.right.key)

    expect(loaded.ok && loaded.config.admin.tls).toEqual({
      certificate: chain.trimEnd(),
      key: made.right.key.trimEnd(),
      clientCertificate: null,
    })
    expect(loaded.sources.map(({ file }) => file.split('/').at(-1))).toEqual(['gateway.yaml', 'tls.crt', 'tls.key'])
  })

  test.each([
    ['of another certificate', () => [made.right.cert, made.wrongName.key], 'key', 'does not belong'],
    ['behind its authority', () => [made.authority.cert + made.right.cert, made.right.key], 'key', 'does not belong'],
    ['with a password', () => [made.right.cert, locked], 'key', 'a key with a password'],
    ['in place of each other', () => [made.right.key, made.right.cert], 'certificate', 'not a certificate in PEM'],
    ['cut short', () => [made.right.cert, made.right.key.slice(0, 60)], 'key', 'a private key that cannot be read'],
    ['of a broken certificate', () => [made.right.cert.slice(0, 90), made.right.key], 'certificate', 'cannot be read'],
  ])('%s are a problem at the wrong one, which quotes neither', (_what, make, at, message) => {
    const [certificate = '', key = ''] = make()

    const loaded = load(certificate, key)
    const problems = loaded.ok ? [] : loaded.problems

    expect(problems[0]).toMatchObject({
      path: `admin.tls.${at}`,
      line: at === 'key' ? 4 : 3,
      message: expect.stringContaining(message),
    })
    const printed = formatProblems(problems)
    for (const line of `${certificate}\n${key}`.split('\n').filter((text) => text.length > 16)) {
      expect(printed).not.toContain(line.replaceAll('-', ''))
    }
  })

  describe('of an upstream', () => {
    /** Loads a file with these lines under `defaults.tls` and `upstreams.risk.tls`, beside the files that they name. */
    const loadTls = (defaults: string, risk: string, files: Readonly<Record<string, string>>) => {
      const text = `defaults:\n  tls: ${defaults}\n${withRisk(`\n    endpoints: [https://risk]\n    tls: ${risk}`)}\n`
      return loadConfig(join(folderWith({ 'gateway.yaml': text, ...files }), 'gateway.yaml'), {})
    }

    test('may stand on two levels, and each file is read again when it changes', () => {
      const files = { ca: made.authority.cert + made.selfSigned.cert, crt: made.right.cert, key: made.right.key }

      const loaded = loadTls('{ ca: file:ca, certificate: file:crt, key: file:key }', '{ ca: none }', files)

      const upstreams = loaded.ok ? loaded.config.upstreams : null
      const own = { certificate: made.right.cert.trimEnd(), key: made.right.key.trimEnd() }
      expect(upstreams?.market.tls).toMatchObject({ ca: files.ca.trimEnd(), ...own })
      expect(upstreams?.risk.tls).toMatchObject({ ca: null, ...own })
      expect(loaded.sources.map(({ file }) => file.split('/').at(-1))).toEqual(['gateway.yaml', 'ca', 'crt', 'key'])
    })

    test('show nowhere', () => {
      const files = { ca: made.authority.cert, crt: made.right.cert, key: made.right.key }

      const loaded = loadTls('{}', '{ ca: file:ca, certificate: file:crt, key: file:key }', files)

      const shown = JSON.parse(JSON.stringify(loaded.ok && renderEffectiveConfig(loaded.config)))
      expect(shown.upstreams.risk.tls).toMatchObject({ ca: '***', certificate: '***', key: '***' })
      expect(JSON.stringify(shown)).not.toContain('BEGIN')
    })

    const pair = '{ certificate: file:crt, key: file:key }'
    const wrong = '{ certificate: file:crt, key: file:other }'

    test.each([
      ['a key of another certificate', '{ certificate: file:crt }', '{ key: file:other }', 'upstreams.risk.tls.key'],
      ['a key that does not belong, inherited by all', wrong, '{}', 'defaults.tls.key'],
      ['a certificate taken back alone', pair, '{ certificate: none }', 'upstreams.risk.tls.certificate'],
      ['a key taken back alone', pair, '{ key: none }', 'upstreams.risk.tls.key'],
      ['an authority whose second part is broken', '{}', '{ ca: file:cut }', 'upstreams.risk.tls.ca'],
      ['an authority with a key among it', '{ ca: file:mixed }', '{}', 'defaults.tls.ca'],
    ])('%s is a problem where it stands', (_what, defaults, risk, path) => {
      const loaded = loadTls(defaults, risk, {
        ...{ crt: made.right.cert, key: made.right.key, other: made.wrongName.key },
        ...{ cut: made.authority.cert + made.right.cert.slice(0, 90), mixed: made.authority.cert + made.right.key },
      })

      const problems = loaded.ok ? [] : loaded.problems
      expect(problems.map((problem) => problem.path)).toContain(path)
      const printed = formatProblems(problems)
      expect(printed).not.toContain(made.right.key.split('\n')[1])
      expect(printed).not.toContain(made.wrongName.key.split('\n')[1])
    })
  })
})
