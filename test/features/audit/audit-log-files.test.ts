/** The files of an audit log: rotated, moved away, removed, written to by others. */
import * as fs from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { AuditLog } from '../../../src/features/audit/audit-log.ts'
import { eventually } from '../../helpers/wire.ts'
import { open, openFailing, openWriting, place, run, says } from './open-audit-log.ts'
import { verified } from './sample-audit-log.ts'

/** Records lines until so many files have been rotated; returns their texts. */
const rotate = async (auditLog: AuditLog, folder: string, name: string, count: number): Promise<readonly string[]> => {
  const files = () => fs.readdirSync(folder).filter((each) => each !== name)
  for (let round = 1; round <= count; round++) {
    for (let n = 0; n < 30; n++) auditLog.record(says(n))
    await eventually(() => files().length >= round)
  }
  await auditLog.close()
  const sorted = files().sort()
  return sorted.map((each) => fs.readFileSync(join(folder, each), 'utf8'))
}

test('a file that is full is renamed by its last line, and the next begins where it ended; a restart between the two goes on as well', async () => {
  const { config, folder, file, read } = place()
  const small = { ...config, rotate: 4096 }
  const { auditLog, begin } = open()
  await begin(small)

  const earlier = await rotate(auditLog, folder, 'audit.log', 3)
  const last = read()

  expect(earlier.length).toBeGreaterThanOrEqual(3)
  expect(verified([...earlier, last]).findings).toEqual([])
  expect(verified(earlier.slice(1)).findings).toEqual([])
  fs.rmSync(file)
  await run(small, 1)
  // The content of the last file is missing, and so is its beginning.
  expect(verified([...earlier, read()]).findings).toEqual([])
})

test('a file that is full is written on under its own name while no next one can be opened', async () => {
  const { config, folder, file, read } = place()
  const { auditLog, begin, lines } = open()
  await begin({ ...config, rotate: 1024 })
  const rejected = vi.spyOn(promises, 'open').mockRejectedValue(new Error('EMFILE: too many open files'))
  syncBuiltinESMExports()
  onTestFinished(() => {
    rejected.mockRestore()
    syncBuiltinESMExports()
  })

  for (let n = 0; n < 30; n++) auditLog.record(says(n))
  await eventually(() => lines.some(({ msg }) => msg === 'audit file cannot be changed'))
  auditLog.record(says(30))
  await auditLog.close()

  expect(fs.readdirSync(folder)).toEqual(['audit.log'])
  expect(verified([read()]).findings).toEqual([])
  expect(fs.readFileSync(file, 'utf8')).toContain('"n":30')
})

test('a crash in the first line of a file is reported with what the one rotated before it ends in', async () => {
  const { config, folder, file, read } = place()
  await run(config, 3)
  const rotated = join(folder, 'audit.log.000000000005')
  fs.renameSync(file, rotated)
  fs.appendFileSync(rotated, '{"audit":"')
  fs.appendFileSync(file, '{"aud')

  await run(config, 1)

  const files = [fs.readFileSync(rotated, 'utf8'), read()]
  expect(verified(files)).toMatchObject({ findings: [], chains: [{ first: 1, lines: 8 }] })
})

test('a file that is moved away is followed by a new one at the next reload', async () => {
  const { config, file, read } = place()
  const { auditLog } = await openWriting(config, read)

  fs.renameSync(file, `${file}.1`)
  auditLog.reopen()
  await eventually(() => fs.existsSync(file))
  auditLog.record(says(2))
  await auditLog.close()

  const files = [fs.readFileSync(`${file}.1`, 'utf8'), read()]
  expect(files[1]).toContain('"event":"file"')
  expect(verified(files)).toMatchObject({ findings: [], chains: [{ lines: 5 }] })
})

test('where a file is removed, the next line begins a new one, and says what it follows', async () => {
  const { config, file, read } = place()
  const { auditLog, lines } = await openWriting(config, read)

  fs.rmSync(file)
  auditLog.record(says(2))
  await eventually(() => fs.existsSync(file) && read().includes('"n":2'))
  await auditLog.close()

  expect(lines[0]).toMatchObject({ msg: 'audit cannot be written', reason: 'it was removed' })
  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ first: 3, lines: 3 }] })
})

test('what is written where it could not be read counts as not written, and goes on when there is a place again', async () => {
  const { folder, config, read } = place()
  const { auditLog, begin, lines } = open()
  await begin(config)
  await eventually(() => read().length > 0)
  fs.rmSync(folder, { recursive: true })

  auditLog.record(says(1))
  await eventually(() => auditLog.failing)
  const { reason } = auditLog.state ?? {}
  await eventually(() => auditLog.state?.reason?.startsWith('ENOENT') === true)
  fs.mkdirSync(folder)
  await eventually(() => !auditLog.failing)

  expect(reason).toMatch(/it was removed|ENOENT/)
  expect(lines.map(({ msg }) => msg)).toEqual(['audit cannot be written'])
  expect(read()).toContain('"n":1')
  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ first: 2 }] })
})

test('a second writer to the file is noticed before the chain is broken, and it goes on when that is undone', async () => {
  const { auditLog, file, before, read, lines } = await openFailing()

  fs.truncateSync(file, before.length)
  await eventually(() => !auditLog.failing)

  expect(lines[0]).toMatchObject({ msg: 'audit cannot be written', reason: expect.stringContaining('who else writes') })
  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ lines: 2 }] })
})

test('behind a symbolic link the file is rotated where it is, and the link stays; a restart goes on from there', async () => {
  const [{ config, folder, file, read }, disk] = [place(), place()]
  const real = join(disk.folder, 'records.log')
  fs.symlinkSync(real, file)
  const small = { ...config, rotate: 4096 }
  const { auditLog, begin } = open()
  await begin(small)

  const before = await rotate(auditLog, disk.folder, 'records.log', 2)
  const last = read()
  fs.rmSync(real) // so that the chain has to be found in the file that was rotated last
  await run(small, 1)

  expect([fs.readlinkSync(file), fs.readdirSync(folder)]).toEqual([real, ['audit.log']])
  expect(fs.readdirSync(disk.folder).sort()[1]).toMatch(/^records\.log\.\d{12}$/)
  expect(verified([...before, last]).findings).toEqual([])
  expect(verified([...before, read()]).findings).toEqual([])
})

test('a link that is set to another disk is followed at the next reload', async () => {
  const [{ config, file }, one, other] = [place(), place(), place()]
  fs.symlinkSync(one.file, file)
  const { auditLog } = await openWriting(config, one.read)

  fs.rmSync(file)
  fs.symlinkSync(other.file, file)
  auditLog.reopen()
  await eventually(() => fs.existsSync(other.file))
  auditLog.record(says(2))
  await auditLog.close()

  expect(verified([one.read(), other.read()])).toMatchObject({ findings: [], chains: [{ lines: 5 }] })
})
