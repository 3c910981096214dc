import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { diffReports } from '../../../../src/core/config/diff/diff-reports.ts'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import { loadConfig } from '../../../../src/core/config/load/load-config.ts'
import { formatProblems } from '../../../../src/core/config/problem.ts'
import { needCertificates } from '../../../helpers/certificates.ts'
import { folderWith, sandbox } from '../helper.ts'

const { made, missing } = await needCertificates()

describe.skipIf(missing)('listen.tls', () => {
  let files: Readonly<Record<string, string>>
  beforeAll(() => {
    files = {
      ...{ crt: made.right.cert, key: made.right.key, ca: made.authority.cert, crl: made.noneRevoked },
      ...{ 'other.crt': made.wrongName.cert, 'other.key': made.wrongName.key },
      cut: made.noneRevoked.slice(0, 90),
    }
  })

  /** Loads a file with these lines under `listen.tls`, beside the files that they name. */
  const load = (lines: readonly string[], more: Readonly<Record<string, string>> = {}) => {
    const text = `listen:\n  tls:\n${lines.map((line) => `    ${line}\n`).join('')}${sandbox}\n`
    return loadConfig(join(folderWith({ 'gateway.yaml': text, ...files, ...more }), 'gateway.yaml'), {})
  }
  const pair = 'certificates: [{ certificate: "file:crt", key: "file:key" }]'
  const two = [
    'certificates:',
    '  - { certificate: "file:crt", key: "file:key" }',
    '  - { certificate: "file:other.crt", key: "file:other.key" }',
  ] as const

  test('is read from files, each of which is read again when it changes', () => {
    const loaded = load([...two, 'clientCertificates: optional', 'clientCa: file:ca', 'clientCrl: ["file:crl"]'])

    expect(loaded.ok && loaded.config.listen.tls).toEqual({
      certificates: [made.right, made.wrongName].map(({ cert, key }) => ({
        certificate: cert.trimEnd(),
        key: key.trimEnd(),
      })),
      minVersion: 'TLSv1.2',
      clientCertificates: 'optional',
      clientCa: made.authority.cert.trimEnd(),
      clientCrl: [made.noneRevoked.trimEnd()],
    })
    const names = loaded.sources.map(({ file }) => file.split('/').at(-1))
    expect(names.sort()).toEqual(['ca', 'crl', 'crt', 'gateway.yaml', 'key', 'other.crt', 'other.key'])
  })

  const asked = [pair, 'clientCertificates: required']

  test.each<[string, readonly string[], string, number]>([
    [
      'a key of another certificate',
      [...two.slice(0, 2), two[2].replace('other.crt', 'crt')],
      'certificates[1].key',
      5,
    ],
    ['no certificate at all', ['certificates: []'], 'certificates', 3],
    ['nothing but a version', ['minVersion: TLSv1.3'], 'certificates', 2],
    ['an old version', [pair, 'minVersion: TLSv1.1'], 'minVersion', 4],
    ['clients that are asked, and no authority', asked, 'clientCertificates', 4],
    ['an authority, and no client asked', [pair, 'clientCa: file:ca'], 'clientCa', 4],
    ['a list of the revoked, and no client asked', [pair, 'clientCrl: ["file:crl"]'], 'clientCrl', 4],
    ['a list that is cut short', [...asked, 'clientCa: file:ca', 'clientCrl: ["file:cut"]'], 'clientCrl[0]', 6],
    ['a key in place of an authority', [...asked, 'clientCa: file:key'], 'clientCa', 5],
  ])('%s is a problem where it stands, which quotes no file', (_what, lines, path, line) => {
    const loaded = load(lines)

    const problems = loaded.ok ? [] : loaded.problems
    expect(problems).toEqual([expect.objectContaining({ path: `listen.tls.${path}`, line })])
    const printed = formatProblems(problems)
    for (const text of Object.values(files).flatMap((each) => each.split('\n')))
      if (/^[\w+/=]{16,}$/.test(text)) expect(printed).not.toContain(text)
  })

  test('shows nowhere, and a renewal is a change all the same', () => {
    const before = load([pair])
    const after = load([pair], { crt: made.renewed.cert, key: made.renewed.key })
    if (!before.ok || !after.ok) throw new Error('rejected')

    const shown = [before, after].map(({ config }) => reportConfig(config))
    const [from, to] = shown

    expect(from?.config.listen).toMatchObject({ tls: { certificates: [{ certificate: '***', key: '***' }] } })
    expect(JSON.stringify(shown)).not.toContain('BEGIN')
    expect(from && to && diffReports(from, to)).toEqual([
      expect.objectContaining({ part: 'listen', path: 'listen.tls.certificates' }),
    ])
  })
})
