/** The command `audit verify`, on files as a crash, a rotation or an attacker leaves them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLineRewriter } from '../../../src/core/log/log-format.ts'
import { nextLinePrefix } from '../../../src/features/audit/chain/chain.ts'
import { verifyAuditLog } from '../../../src/features/audit/chain/verify-command.ts'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { sample } from './sample-audit-log.ts'

/** Verifies files in the order that a shell gives their names; returns what is printed. */
const verifies = async (contents: Readonly<Record<string, string | Buffer>>, checkpoints: readonly string[] = []) => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(contents)) writeFileSync(join(folder, name), text)
  const key = join(folder, 'key')
  writeFileSync(key, 'k'.repeat(32))
  const files = Object.keys(contents)
    .sort()
    .map((name) => join(folder, name))
  let [out, errors] = ['', '']
  const code = await verifyAuditLog(
    files,
    { key: [`file:${key}`], checkpoint: checkpoints, mixed: false },
    {
      out: (text) => {
        out += text
      },
      error: (text) => {
        errors += text.replaceAll(`${folder}/`, '')
      },
    },
  )
  return { code, out, errors }
}

const first = sample(3)
const second = sample(3, first.link)
const third = sample(3, second.link)

test('files are sorted whatever their names, even an empty one, or one that begins with a torn line', async () => {
  const piece = `${nextLinePrefix(third.link)}"ti`
  const rotated = { 'audit.log.2': first.text, 'audit.log.1': second.text }

  expect(await verifies({ ...rotated, 'audit.log': third.text })).toMatchObject({ code: 0, errors: '' })
  expect(await verifies({ ...rotated, 'audit.log': '' })).toMatchObject({ code: 0, errors: '' })
  expect(await verifies({ ...rotated, 'audit.log': piece.replace('"seq":13', '"seq":9') })).toMatchObject({ code: 0 })
  expect(await verifies({ 'audit.log.2': first.text, 'audit.log': third.text })).toMatchObject({ code: 1 })
})

test('a log that does not start at its beginning is reported so', async () => {
  const whole = await verifies({ 'audit.log': first.text })
  const later = await verifies({ 'audit.log': second.text })

  expect(whole.out).toContain('all is as it was written; whether')
  expect(later.out).toContain('all is as it was written, from number 5 on; whether')
})

test('the oldest files of either of two chains may be archived', async () => {
  const other = sample(2)
  const later = { 'other.log': sample(2, other.link).text, 'other.log.3': other.text }

  expect(await verifies({ 'audit.log': first.text, 'other.log': later['other.log'] })).toMatchObject({
    code: 0,
    errors: '',
    out: expect.stringContaining('all is as it was written, from number 4 on; whether'),
  })
  expect(await verifies({ 'audit.log': second.text, ...later })).toMatchObject({
    code: 0,
    errors: '',
    out: expect.stringContaining('all is as it was written, from number 5 on; whether'),
  })
})

test('junk without a line end is one finding, however long it is', async () => {
  const { code, errors, out } = await verifies({
    'audit.log': Buffer.concat([Buffer.from(first.text), Buffer.alloc(4e6)]),
  })

  expect([code, errors]).toEqual([1, 'audit.log:5: this is no line of an audit log; expected line number 5\n'])
  expect(out).toMatch(/^chain [0-9a-f]{16}: 4 lines, number 1 to 4\nNOT as it was written: 1 fault\n$/)
})

test('a malformed checkpoint is not taken for one', async () => {
  const { link } = first
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const log = join(folder, 'gateway.log')
  const line = (fields: object): string => `${JSON.stringify({ ...fields, msg: 'audit checkpoint' })}\n`

  writeFileSync(log, line({ chain: link.chain, count: 'many', hash: link.mac }))
  expect(await verifies({ 'audit.log': first.text }, [log])).toMatchObject({
    code: 2,
    errors: expect.stringContaining('holds no line "audit checkpoint"'),
  })
  writeFileSync(log, line({ chain: link.chain, count: link.count, hash: link.mac }))
  expect(await verifies({ 'audit.log': first.text }, [log])).toMatchObject({ code: 0, errors: '' })
})

test('a checkpoint that is cut short says what was expected', async () => {
  expect(await verifies({ 'audit.log': first.text }, ['3:abc'])).toMatchObject({
    code: 2,
    errors: expect.stringMatching(
      /^lender-gateway: 3:abc is neither COUNT:HASH, .*, nor a log that can be read: ENOENT/,
    ),
  })
})

test.each(['ecs', 'otel'] as const)('checkpoints are read from a log by %s as well', async (format) => {
  const { link } = first
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const log = join(folder, 'gateway.log')
  const rewrite = createLineRewriter(testConfig({ log: { format } }))
  const line = { level: 30, time: 0, chain: link.chain, count: link.count, hash: link.mac, msg: 'audit checkpoint' }
  writeFileSync(log, rewrite?.(JSON.stringify(line)) ?? '')

  expect(await verifies({ 'audit.log': first.text }, [log])).toMatchObject({ code: 0, errors: '' })
  expect(await verifies({ 'audit.log': first.text.slice(0, -400) }, [log])).toMatchObject({ code: 1 })
})

test.each([
  ['a key', ['/nowhere/audit.log'], "required option '--key <file:PATH>' not specified"],
  ['a file', ['--key', 'file:/nowhere/key'], "missing required argument 'FILE'"],
])('without %s it is wrong usage, which is printed once, and nothing is read', async (_, args, words) => {
  const { code, out, err } = await runCommand(['audit', 'verify', ...args])

  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err.trim()).toBe(`lender-gateway: ${words}`)
})
