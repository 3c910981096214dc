/** The command `audit verify`, on files as a crash, a rotation or an attacker leaves them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLineRewriter } from '../../../src/core/log/log-format.ts'
import { nextLinePrefix } from '../../../src/features/audit/chain/chain.ts'
import { verifyAuditLog } from '../../../src/features/audit/chain/verify-command.ts'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { sample } from './sample-audit-log.ts'

/** Returns the paths, sorted as by a shell. */
const write = (contents: Readonly<Record<string, string | Buffer>>): readonly string[] => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, text] of Object.entries(contents)) writeFileSync(join(folder, name), text)
  return Object.keys(contents)
    .sort()
    .map((name) => join(folder, name))
}

/** Returns the output. */
const verifies = async (contents: Readonly<Record<string, string | Buffer>>, checkpoint: readonly string[] = []) => {
  const [files, [key = '']] = [write(contents), write({ key: 'k'.repeat(32) })]
  const [out, errors]: [string[], string[]] = [[], []]
  const io = {
    out: (text: string) => void out.push(text),
    error: (text: string) => void errors.push(text.replaceAll(`${dirname(files[0] ?? '')}/`, '')),
  }
  const code = await verifyAuditLog(files, { key: [`file:${key}`], checkpoint, mixed: false }, io)
  return { code, out: out.join(''), errors: errors.join('') }
}

const inOrder = { code: 0, errors: '' }

const first = sample(3)
const second = sample(3, first.link)
const third = sample(3, second.link)

test('files are sorted whatever their names, even an empty one, or one that begins with a torn line', async () => {
  const piece = `${nextLinePrefix(third.link)}"ti`
  const rotated = { 'audit.log.2': first.text, 'audit.log.1': second.text }

  expect(await verifies({ ...rotated, 'audit.log': third.text })).toMatchObject(inOrder)
  expect(await verifies({ ...rotated, 'audit.log': '' })).toMatchObject(inOrder)
  expect(await verifies({ ...rotated, 'audit.log': piece.replace('"seq":13', '"seq":9') })).toMatchObject({ code: 0 })
  expect(await verifies({ 'audit.log.2': first.text, 'audit.log': third.text })).toMatchObject({ code: 1 })
})

const other = sample(2)
const otherLater = sample(2, other.link).text

test.each([
  ['the whole of a log', { 'audit.log': first.text }, ''],
  ['a log without its oldest file', { 'audit.log': second.text }, ', from number 5 on'],
  ['two chains, one without', { a: first.text, b: otherLater }, ', from number 4 on'],
  ['two, the other without', { a: second.text, b: otherLater, 'b.3': other.text }, ', from number 5 on'],
])('%s says from where on all is as it was written', async (_, files: Record<string, string>, from) => {
  const out = expect.stringContaining(`all is as it was written${from}; whether`)

  expect(await verifies(files)).toMatchObject({ ...inOrder, out })
})

test('junk without a line end is one finding, however long it is', async () => {
  const junk = Buffer.concat([Buffer.from(first.text), Buffer.alloc(4e6)])
  const { code, errors, out } = await verifies({ 'audit.log': junk })

  expect([code, errors]).toEqual([1, 'audit.log:5: this is no line of an audit log; expected line number 5\n'])
  expect(out).toMatch(/^chain [0-9a-f]{16}: 4 lines, number 1 to 4\nNOT as it was written: 1 fault\n$/)
})

const { chain, count, mac: hash } = first.link
const checkpointLine = { level: 30, time: 0, chain, count, hash, msg: 'audit checkpoint' }
const writeLog = (text: string): string => write({ 'gateway.log': text })[0] ?? ''

test.each([
  ['a line that is malformed', () => writeLog(JSON.stringify({ ...checkpointLine, count: 'many' })), /holds no line "/],
  ['cut short', () => '3:abc', /^lender-gateway: 3:abc is neither COUNT:HASH, .*, nor a log that can be read: ENOENT/],
])('a checkpoint that is %s is wrong usage, and says what was expected', async (_, checkpoint, words) => {
  const errors = expect.stringMatching(words)

  expect(await verifies({ 'audit.log': first.text }, [checkpoint()])).toMatchObject({ code: 2, errors })
})

test.each(['pino', 'ecs', 'otel'] as const)('checkpoints are read from a log of the format %s', async (format) => {
  const rewrite = createLineRewriter(testConfig({ log: { format } })) ?? ((line: string) => `${line}\n`)
  const log = writeLog(rewrite(JSON.stringify(checkpointLine)))

  expect(await verifies({ 'audit.log': first.text }, [log])).toMatchObject(inOrder)
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
