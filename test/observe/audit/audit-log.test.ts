/** How an audit log goes on: over a restart, a crash and a reload. Its files are `audit-log-files.test.ts`'s. */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { toAuditKey } from '../../../src/observe/audit/chain.ts'
import { eventually } from '../../helpers/wire.ts'
import { open, place, run, says } from './open-audit-log.ts'
import { key, verified } from './sample-audit-log.ts'

test('a restart goes on with the chain of the file', async () => {
  const { config, read } = place()

  await run(config, 3)
  await run(config, 3)

  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ first: 1, lines: 10 }] })
})

test.each([
  ['in a line', (text: string) => text.slice(0, -100)],
  ['between a line and its end', (text: string) => text.slice(0, -1)],
  ['in the first line', (text: string) => text.slice(0, 100)],
  ['in the midst of what every line begins with', (text: string) => text.slice(0, 5)],
  ['in the first line, twice', (text: string) => `${text.slice(0, 100)}\n{"audit":"`],
  ['in a line, twice', (text: string) => `${text.slice(0, -100)}\n{"audit":"`],
])('a crash %s is reported, and the chain goes on', async (_, crash) => {
  const { config, file, read } = place()
  await run(config, 3)
  writeFileSync(file, crash(read()))

  await run(config, 1)

  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ first: 1 }] })
  expect(read()).toContain('"n":0')
})

test('with another key than the last line was sealed with no chain goes on, nor in a file that is no audit log', async () => {
  const { config, file, read } = place()
  await run(config, 3)
  const before = read()
  const { auditLog } = open()

  await expect(auditLog.prepare({ ...config, key: 'x'.repeat(32) })).rejects.toThrow(
    /not sealed with audit\.key, or was edited/,
  )
  writeFileSync(file, before.replace('"event":"end"', '"event":"enD"'))
  await expect(auditLog.prepare(config)).rejects.toThrow(/not sealed with audit\.key, or was edited/)
  writeFileSync(file, 'a diary\n')
  await expect(auditLog.prepare(config)).rejects.toThrow(/holds something else than an audit log/)
  await expect(auditLog.prepare({ ...config, file: '/nowhere/audit.log' })).rejects.toThrow(
    /^audit\.file \/nowhere\/audit\.log cannot be used: ENOENT/,
  )
  await expect(auditLog.prepare({ ...config, file: tmpdir() })).rejects.toThrow(/cannot be used/)
})

test('what a worker lost is recorded, before the writer has started and after it, with what came early', async () => {
  const { config, file, read } = place()
  const { auditLog, begin } = open()

  auditLog.recordFromWorker([says(1)], 5)
  await begin(config)
  await eventually(() => existsSync(file) && read().includes('"n":1'))
  await eventually(() => read().includes('"event":"lost","lines":5,'))
  auditLog.recordFromWorker([], 7)
  await eventually(() => read().includes('"event":"lost","lines":7,'))
  await auditLog.close()

  expect(verified([read()])).toMatchObject({ findings: [] })
})

test('a reload moves to another file with what the one before could not take, or changes the key', async () => {
  const [first, second] = [place(), place()]
  const { auditLog, begin } = open()
  await begin(first.config)
  await eventually(() => first.read().length > 0)
  const { length } = first.read()
  appendFileSync(first.file, 'an intruder\n')
  auditLog.record(says(1))
  await eventually(() => auditLog.failing)

  await begin(second.config)
  await eventually(() => second.read().includes('"n":1'))
  await begin({ ...second.config, key: 'x'.repeat(32) })
  auditLog.record(says(2))
  await auditLog.close()

  expect(auditLog.failing).toBe(false)
  expect(verified([first.read().slice(0, length)]).findings).toEqual([])
  expect(verified([second.read()], { keys: [key, toAuditKey('x'.repeat(32))] }).findings).toEqual([])
})
