/** An audit log over restarts, crashes and reloads. Its files: `audit-log-files.test.ts`. */
import { appendFileSync, existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { AuditWriter } from '../../../src/features/audit/audit-writer.ts'
import { toAuditKey } from '../../../src/features/audit/chain/chain.ts'
import { eventually } from '../../helpers/wire.ts'
import { open, openFailing, openWriting, place, run, says } from './open-audit-log.ts'
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
  const rejects = (more: object, message: RegExp) =>
    expect(auditLog.prepare({ ...config, ...more })).rejects.toThrow(message)

  await rejects({ key: 'x'.repeat(32) }, /not sealed with audit\.key, or was edited/)
  writeFileSync(file, before.replace('"event":"end"', '"event":"enD"'))
  await rejects({}, /not sealed with audit\.key, or was edited/)
  writeFileSync(file, 'a diary\n')
  await rejects({}, /holds something else than an audit log/)
  await rejects({ file: '/nowhere/audit.log' }, /^audit\.file \/nowhere\/audit\.log cannot be used: ENOENT/)
  await rejects({ file: tmpdir() }, /cannot be used/)
})

test('what a worker lost is recorded, before the writer has started and after it, with what came early', async () => {
  const { config, read } = place()
  const { auditLog, begin } = open()
  const isRecorded = (text: string) => eventually(() => read().includes(text))

  auditLog.recordFromWorker([says(1)], 5)
  await begin(config)
  await eventually(() => existsSync(config.file))
  await isRecorded(says(1))
  await isRecorded('"event":"lost","lines":5,')
  auditLog.recordFromWorker([], 7)
  await isRecorded('"event":"lost","lines":7,')
  await auditLog.close()

  expect(verified([read()])).toMatchObject({ findings: [] })
})

test('what operators did before the writer has started is recorded, unless there was to be no audit log', async () => {
  const [on, off] = [
    { ...open(), ...place() },
    { ...open(), ...place() },
  ]
  for (const { auditLog } of [on, off]) auditLog.recordAdminEvent('shift taken up', { group: 'risk' })

  await on.begin(on.config)
  await off.begin(null)
  await off.begin(off.config)
  await Promise.all([on.auditLog.close(), off.auditLog.close()])

  expect(on.read()).toContain('"event":"shift taken up","group":"risk"')
  expect(off.read()).not.toContain('shift taken up')
})

test('a reload moves to another file with what the one before could not take, or changes the key', async () => {
  const [{ auditLog, begin, before }, { config, read }] = [await openFailing(), place()]

  await begin(config)
  await eventually(() => read().includes('"n":1'))
  await begin({ ...config, key: 'x'.repeat(32) })
  auditLog.record(says(2))
  await auditLog.close()

  expect(auditLog.failing).toBe(false)
  expect(verified([before]).findings).toEqual([])
  expect(verified([read()], { keys: [key, toAuditKey('x'.repeat(32))] }).findings).toEqual([])
})

test('a change of file that loses nothing schedules no write to report that', async () => {
  const reportLost = vi.spyOn(AuditWriter.prototype, 'reportLost')
  onTestFinished(() => reportLost.mockRestore())
  const [first, second] = [place(), place()]
  const { auditLog, begin } = open()

  await begin(first.config)
  await begin(second.config)
  await auditLog.close()

  expect(reportLost).not.toHaveBeenCalled()
})

test.each([
  ['spelled in another way', (file: string) => `${dirname(file)}/./${basename(file)}`],
  [
    'behind a symbolic link',
    (file: string) => {
      symlinkSync(file, `${file}.link`)
      return `${file}.link`
    },
  ],
])('a reload that names the same file, %s, goes on with its chain', async (_, respell) => {
  const { config, file, read } = place()
  const { auditLog, begin } = await openWriting(config, read)
  const respelled = respell(file)

  await begin({ ...config, file: respelled })
  auditLog.record(says(2))
  await eventually(() => read().includes('"n":2') || auditLog.failing)

  expect(auditLog.state).toMatchObject({ file: respelled, reason: null })
  await auditLog.close()
  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ first: 1, lines: 4 }] })
})

test('a log that is switched off and at once on again goes on with the chain of its file', async () => {
  const { config, read } = place()
  const { auditLog, begin } = open()
  await begin(config)
  for (let n = 0; n < 20; n++) auditLog.record(`${says(n)},"long":"${'x'.repeat(50_000)}"`)

  await begin(null)
  await begin(config)
  auditLog.record(says(20))
  await eventually(() => read().includes('"n":20') || auditLog.failing)

  expect(auditLog.failing).toBe(false)
  await auditLog.close()
  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ first: 1, lines: 25 }] })
})

test('lost lines that one file has not reported are reported by the next, and count for both', async () => {
  const [first, second] = [place(), place()]
  const { auditLog, begin } = open()
  await begin(first.config)
  auditLog.recordFromWorker([], 5)
  await eventually(() => first.read().includes('"event":"lost","lines":5,') && !auditLog.failing)
  appendFileSync(first.file, 'an intruder\n')
  auditLog.record(says(1))
  await eventually(() => auditLog.failing)
  auditLog.recordFromWorker([], 7)

  await begin(second.config)
  const { lost } = auditLog.state ?? {}
  await eventually(() => second.read().includes('"event":"lost","lines":7,'))

  expect([lost, auditLog.state?.lost]).toEqual([12, 12])
  await auditLog.close()
  expect(verified([second.read()])).toMatchObject({ findings: [] })
})

type Failing = Awaited<ReturnType<typeof openFailing>>

test.each<[string, (failing: Failing) => unknown]>([
  ['is switched off', ({ begin }) => begin(null)],
  ['ends', ({ auditLog }) => auditLog.close()],
  [
    'is moved and at once switched off',
    async ({ auditLog }) => {
      const changes = [await auditLog.prepare(place().config), await auditLog.prepare(null)]
      for (const { commit } of changes) commit()
    },
  ],
])('a log that %s while lines cannot be written says how many are lost', async (_, end) => {
  const opened = await openFailing()
  const { auditLog, lines } = opened
  auditLog.record(says(2))
  auditLog.recordFromWorker([], 3)

  await end(opened)

  await eventually(() => lines.some(({ msg }) => msg === 'audit lines lost'))
  expect(lines.find(({ msg }) => msg === 'audit lines lost')).toMatchObject({ lines: 5 })
})

test('a log that moves to another file and is closed at once takes along what the one before could not take', async () => {
  const [{ auditLog, begin, lines }, { config, read }] = [await openFailing(), place()]

  await begin(config)
  auditLog.record(says(2))
  await auditLog.close()

  for (const line of [says(1), says(2)]) expect(read()).toContain(line)
  expect(verified([read()]).findings).toEqual([])
  expect(lines.filter(({ msg }) => msg === 'audit lines lost')).toEqual([])
})
