import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findProblems, folderWith, parse, sandbox, validConfig } from '../../core/config/helper.ts'

const at = join(folderWith({ key: `${'k'.repeat(32)}\n`, short: 'k'.repeat(31) }), 'gateway.yaml')
const good = 'file: /var/log/audit.log, key: file:key'

test('keys that are left out have their defaults, and the key is the text of its file', () => {
  expect(validConfig(`audit: { ${good} }\n${sandbox}`, {}, at).audit).toEqual({
    ...{ file: '/var/log/audit.log', key: 'k'.repeat(32), digests: 'none', onFailure: 'reject', rotate: null },
  })
  expect(validConfig(`audit: none\n${sandbox}`).audit).toBe(null)
})

test.each([
  ['{ }', 'audit.file'],
  ['{ file: /var/log/audit.log }', 'audit.key', 'missing'],
  ['{ file: audit.log, key: file:key }', 'audit.file', 'not an absolute path'],
  ['{ file: /var/log/, key: file:key }', 'audit.file', 'not the name of a file'],
  [`{ file: stdout, key: ${'p'.repeat(32)} }`, 'audit.key', 'a key that is not in a file of its own'],
  ['{ file: stdout, key: file:short }', 'audit.key', 'too short'],
  ['{ file: stdout, key: file:nowhere }', 'audit.key', 'the file cannot be used: no such file'],
  ['{ file: stdout, key: file:key, rotate: 1MiB }', 'audit.rotate', 'cannot rotate standard output'],
  [`{ ${good}, rotate: 1KiB }`, 'audit.rotate'],
  [`{ ${good}, digests: all }`, 'audit.digests', 'unknown value'],
  [`{ ${good}, onFailure: none }`, 'audit.onFailure', 'unknown value'],
  ['true', 'audit', 'not a policy'],
])('audit: %s is rejected at %s', (written, path, message = '') => {
  const problems = findProblems(`audit: ${written}\n${sandbox}`, {}, at)

  expect(problems.filter((problem) => problem.path === path)[0]?.message).toContain(message)
  expect(JSON.stringify(problems)).not.toContain('ppp')
})

test('a log without checkpoints gets a warning', () => {
  const warnings = (level: string) => {
    const result = parse(`audit: { ${good} }\nlog: { level: ${level} }\n${sandbox}`, {}, at)
    return result.ok ? result.warnings.map(({ path }) => path) : null
  }

  expect([warnings('info'), warnings('warn')]).toEqual([[], ['log.level']])
})
