/** How an audit log goes on: over a restart, a crash, a reload and a takeover. What becomes of its files is `trail-files.test.ts`'s. */
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { keyOf } from '../../../src/observe/audit/chain.ts'
import { eventually } from '../../helpers/wire.ts'
import { key, verified } from './sample.ts'
import { open, place, run, says } from './trails.ts'

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

test('a key that a reload changes while another process still writes holds for what comes behind its last line', async () => {
  const { config, file, read } = place()
  const old = open()
  await old.begin(config)
  const over = Promise.withResolvers<void>()
  const { trail, begin, lines } = open({ before: { file, over: over.promise } })
  await begin(config)

  await begin({ ...config, key: 'x'.repeat(32) })
  await begin({ ...config, key: 'y'.repeat(32) })
  trail.record(says(1))
  await old.trail.close()
  over.resolve()
  await eventually(() => trail.state !== null)
  await trail.close()

  expect(lines.map(({ msg }) => msg)).not.toContain('audit cannot begin')
  expect(read()).toContain('"n":1')
  expect(verified([read()], { keys: [key, keyOf('y'.repeat(32))] })).toMatchObject({
    findings: [],
    chains: [{ first: 1 }],
  })
})

test('a reload that names another file, or none, while another process still writes is what holds', async () => {
  const [first, second] = [place(), place()]
  await run(first.config, 1)
  const before = first.read()
  const over = Promise.withResolvers<void>()
  const [moved, off] = [1, 2].map(() => open({ before: { file: first.file, over: over.promise } }))
  await moved?.begin(first.config)
  await off?.begin(first.config)

  moved?.trail.record(says(7))
  await moved?.begin(second.config)
  await off?.begin(null)
  over.resolve()
  await eventually(() => second.read().includes('"n":7'))
  await moved?.trail.close()

  expect([moved?.trail.state, off?.trail.state]).toEqual([null, null])
  expect(first.read()).toBe(before)
  expect(verified([second.read()]).findings).toEqual([])
})
