/** What becomes of the files of an audit log: rotated, moved away, removed, written to by others. How it goes on is `trail.test.ts`'s. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually } from '../../helpers/wire.ts'
import { open, place, run, says } from './open-audit-log.ts'
import { verified } from './sample-audit-log.ts'

test('a file that is full is renamed by its last line, and the next begins where it ended; a restart between the two goes on as well', async () => {
  const { config, folder, file, read } = place()
  const small = { ...config, rotate: 4096 }
  const { trail, begin } = open()
  await begin(small)
  const files = (): readonly string[] =>
    readdirSync(folder)
      .filter((name) => name !== 'audit.log')
      .sort()
  for (let round = 1; round <= 3; round++) {
    for (let n = 0; n < 30; n++) trail.record(says(n))
    await eventually(() => files().length >= round)
  }
  await trail.close()

  const last = read()
  const earlier = files().map((name) => readFileSync(join(folder, name), 'utf8'))
  expect(earlier.length).toBeGreaterThanOrEqual(3)
  expect(verified([...earlier, last]).findings).toEqual([])
  expect(verified(earlier.slice(1)).findings).toEqual([])
  rmSync(file)
  await run(small, 1)
  // What stood in the last file is missing, and so is its beginning.
  expect(verified([...earlier, read()]).findings).toEqual([])
})

test('a file that somebody moves away is followed by a new one at the next reload', async () => {
  const { config, file, read } = place()
  const { trail, begin } = open()
  await begin(config)
  trail.record(says(1))
  await eventually(() => read().includes('"n":1'))

  renameSync(file, `${file}.1`)
  trail.reopen()
  await eventually(() => existsSync(file))
  trail.record(says(2))
  await trail.close()

  const files = [readFileSync(`${file}.1`, 'utf8'), read()]
  expect(files[1]).toContain('"event":"file"')
  expect(verified(files)).toMatchObject({ findings: [], chains: [{ lines: 5 }] })
})

test('where a file is removed, the next line begins a new one, and says what it follows', async () => {
  const { config, file, read } = place()
  const { trail, begin, lines } = open()
  await begin(config)
  trail.record(says(1))
  await eventually(() => read().includes('"n":1'))

  rmSync(file)
  trail.record(says(2))
  await eventually(() => existsSync(file) && read().includes('"n":2'))
  await trail.close()

  expect(lines[0]).toMatchObject({ msg: 'audit cannot be written', reason: 'it was removed' })
  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ first: 3, lines: 3 }] })
})

test('where nobody could read what is written it counts as not written, and goes on when there is a place again', async () => {
  const { folder, config, read } = place()
  const { trail, begin, lines } = open()
  await begin(config)
  await eventually(() => read().length > 0)
  rmSync(folder, { recursive: true })

  trail.record(says(1))
  await eventually(() => trail.failing)
  const { reason } = trail.state ?? {}
  await eventually(() => trail.state?.reason?.startsWith('ENOENT') === true)
  mkdirSync(folder)
  await eventually(() => !trail.failing)

  expect(reason).toMatch(/it was removed|ENOENT/)
  expect(lines.map(({ msg }) => msg)).toEqual(['audit cannot be written'])
  expect(read()).toContain('"n":1')
  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ first: 2 }] })
})

test('whoever else writes to the file is noticed before the chain is broken, and it goes on when that is undone', async () => {
  const { config, file, read } = place()
  const { trail, begin, lines } = open()
  await begin(config)
  await eventually(() => read().length > 0)
  const { length } = read()

  appendFileSync(file, 'an intruder\n')
  trail.record(says(1))
  await eventually(() => trail.failing)
  truncateSync(file, length)
  await eventually(() => !trail.failing)

  expect(lines[0]).toMatchObject({ msg: 'audit cannot be written', reason: expect.stringContaining('who else writes') })
  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ lines: 2 }] })
})

test('behind a symbolic link the file is rotated where it is, and the link stays; a restart goes on from there', async () => {
  const [{ config, folder, file, read }, disk] = [place(), place()]
  const real = join(disk.folder, 'records.log')
  symlinkSync(real, file)
  const small = { ...config, rotate: 4096 }
  const rotated = (): readonly string[] =>
    readdirSync(disk.folder)
      .filter((name) => name !== 'records.log')
      .sort()
  const { trail, begin } = open()
  await begin(small)
  for (let round = 1; round <= 2; round++) {
    for (let n = 0; n < 30; n++) trail.record(says(n))
    await eventually(() => rotated().length >= round)
  }
  const { file: told } = trail.state ?? {}
  await trail.close()
  const before = rotated().map((name) => readFileSync(join(disk.folder, name), 'utf8'))

  const last = read()
  rmSync(real) // so that the chain has to be found in the file that was rotated last
  await run(small, 1)

  expect(told).toBe(file)
  expect(readlinkSync(file)).toBe(real)
  expect(readdirSync(folder)).toEqual(['audit.log'])
  expect(rotated()[0]).toMatch(/^records\.log\.\d{12}$/)
  expect(verified([...before, last]).findings).toEqual([])
  expect(verified([...before, read()]).findings).toEqual([])
})

test('a link that is set to another disk is followed at the next reload', async () => {
  const [{ config, file }, one, other] = [place(), place(), place()]
  symlinkSync(one.file, file)
  const { trail, begin } = open()
  await begin(config)
  trail.record(says(1))
  await eventually(() => one.read().includes('"n":1'))

  rmSync(file)
  symlinkSync(other.file, file)
  trail.reopen()
  await eventually(() => existsSync(other.file))
  trail.record(says(2))
  await trail.close()

  expect(verified([one.read(), other.read()])).toMatchObject({ findings: [], chains: [{ lines: 5 }] })
})
