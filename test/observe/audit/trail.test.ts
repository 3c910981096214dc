import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { AuditConfig } from '../../../src/config/config.ts'
import { Trail, type TrailOptions } from '../../../src/observe/audit/trail.ts'
import { logInMemory } from '../../helpers/gateway.ts'
import { eventually } from '../../helpers/wire.ts'
import { key, verified } from './sample.ts'

const says = (n: number): string => `"event":"exchange","n":${n}`

const place = () => {
  const folder = mkdtempSync(join(tmpdir(), 'audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'audit.log')
  const config: AuditConfig = { file, key: 'k'.repeat(32), digests: 'none', onFailure: 'refuse', rotateBytes: null }
  return { folder, file, config, read: () => readFileSync(file, 'utf8') }
}

const open = (more: Partial<TrailOptions> = {}) => {
  const { log, lines } = logInMemory()
  const trail = new Trail({ log, stdout: { write: () => {}, dropped: () => 0 }, before: null, ...more })
  onTestFinished(() => trail.close())
  return { trail, lines, begin: async (config: AuditConfig | null) => (await trail.prepare(config)).commit() }
}

/** Runs a gateway's worth of it: so many lines. */
const run = async (config: AuditConfig, lines: number): Promise<void> => {
  const { trail, begin } = open()
  await begin(config)
  for (let n = 0; n < lines; n++) trail.record(says(n))
  await trail.close()
}

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
])('a crash %s is told of, and the chain goes on', async (_, crash) => {
  const { config, file, read } = place()
  await run(config, 3)
  writeFileSync(file, crash(read()))

  await run(config, 1)

  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ first: 1 }] })
  expect(read()).toContain('"n":0')
})

test('with another key than the last line was sealed with nobody goes on, nor where something else stands', async () => {
  const { config, file, read } = place()
  await run(config, 3)
  const before = read()
  const { trail } = open()

  await expect(trail.prepare({ ...config, key: 'x'.repeat(32) })).rejects.toThrow(
    /not sealed with audit\.key, or was edited/,
  )
  writeFileSync(file, before.replace('"event":"end"', '"event":"enD"'))
  await expect(trail.prepare(config)).rejects.toThrow(/not sealed with audit\.key, or was edited/)
  writeFileSync(file, 'a diary\n')
  await expect(trail.prepare(config)).rejects.toThrow(/holds something else than an audit log/)
  await expect(trail.prepare({ ...config, file: '/nowhere/audit.log' })).rejects.toThrow(
    /^audit\.file \/nowhere\/audit\.log cannot be used: ENOENT/,
  )
  await expect(trail.prepare({ ...config, file: tmpdir() })).rejects.toThrow(/cannot be used/)
})

test('a file that is full is renamed by its last line, and the next begins where it ended; a restart between the two goes on as well', async () => {
  const { config, folder, file, read } = place()
  const small = { ...config, rotateBytes: 4096 }
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

test('what a worker lost is told, before there is somebody to write it and after there was, with what came early', async () => {
  const { config, file, read } = place()
  const { trail, begin } = open({ before: { file, over: Promise.resolve() } })
  const sent: number[] = []

  const begun = begin(config)
  trail.take([says(1)], 5)
  await begun
  await eventually(() => existsSync(file) && read().includes('"n":1'))
  await eventually(() => read().includes('"event":"lost"'))
  await trail.handOver((_, lost, done) => {
    sent.push(lost)
    done()
  })
  trail.take([], 7)
  await eventually(() => sent.length > 0)

  expect(read()).toContain('"event":"lost","lines":5,')
  expect(sent).toEqual([7])
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

test('a reload moves to another file with what the one before could not take, or changes the key', async () => {
  const [first, second] = [place(), place()]
  const { trail, begin } = open()
  await begin(first.config)
  await eventually(() => first.read().length > 0)
  const { length } = first.read()
  appendFileSync(first.file, 'an intruder\n')
  trail.record(says(1))
  await eventually(() => trail.failing)

  await begin(second.config)
  await eventually(() => second.read().includes('"n":1'))
  await begin({ ...second.config, key: 'x'.repeat(32) })
  trail.record(says(2))
  await trail.close()

  expect(trail.failing).toBe(false)
  expect(verified([first.read().slice(0, length)]).findings).toEqual([])
  const { keyOf } = await import('../../../src/observe/audit/chain.ts')
  expect(verified([second.read()], { keys: [key, keyOf('x'.repeat(32))] }).findings).toEqual([])
})

test('what another process still writes is not touched before it says that it has finished', async () => {
  const { config, file, read } = place()
  const old = open()
  await old.begin(config)
  old.trail.record(says(1))
  const over = Promise.withResolvers<void>()
  const { trail, begin } = open({ before: { file, over: over.promise } })

  await begin(config)
  trail.record(says(2))
  await old.trail.handOver((lines, lost, done) => {
    trail.take(lines, lost)
    done()
  })
  const handed = read()
  over.resolve()
  await eventually(() => trail.state !== null)
  old.trail.record(says(3))
  await old.trail.close()
  await trail.close()

  expect(handed).toMatch(/"n":1.*"event":"end","reason":"taken over"/s)
  expect([...read().matchAll(/"n":(\d)/g)].map(([, n]) => n)).toEqual(['1', '2', '3'])
  expect(verified([read()])).toMatchObject({ findings: [], chains: [{ first: 1 }] })
})
