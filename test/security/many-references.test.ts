import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load/load-config.ts'
import { groups } from '../../src/operations.ts'
import { folderWith } from '../config/helper.ts'

// The attack: a file of a megabyte has room for forty thousand references. What they lead to is compared every few
// seconds, and whenever an operator asks for /status, in the thread that serves: three seconds each time in which no
// request moved.
const load = (referTo: (group: string, i: number) => string) => {
  const setOf = (group: string) =>
    Object.fromEntries(Array.from({ length: times }, (_, i) => [`X-Key-${i}`, `file:${referTo(group, i)}`]))
  const upstreams = Object.fromEntries(
    groups.map((group) => [group, { endpoints: ['sandbox'], request: { set: setOf(group) } }]),
  )
  const folder = folderWith({ 'gateway.yaml': JSON.stringify({ upstreams }), key: 'a secret' })
  return loadConfig(join(folder, 'gateway.yaml'), {})
}

// As many as a group takes.
const times = 100

test('a file that is referred to many times is read and compared once', () => {
  const { ok, sources } = load(() => 'key')

  expect(ok).toBe(true)
  expect(sources.map(({ file }) => file.split('/').at(-1))).toEqual(['gateway.yaml', 'key'])
})

test('references to too many files are one problem, and no more of them are watched', () => {
  const loaded = load((group, i) => `missing-${group}-${i}`)
  const problems = loaded.ok ? [] : loaded.problems

  expect(problems.filter(({ message }) => message === 'too many files are referred to')).toHaveLength(1)
  expect(loaded.sources.length).toBeLessThan(300)
})
