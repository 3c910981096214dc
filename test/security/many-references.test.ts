import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/core/config/load/load-config.ts'
import { groups } from '../../src/operations.ts'
import { folderWith } from '../core/config/helper.ts'

// The attack: a file of a megabyte has room for forty thousand references. Their targets are compared every few
// seconds, and at each /status, in the serving thread: for three seconds each time no request moved.
const load = (referTo: (group: string, i: number) => string, admin = {}) => {
  const setOf = (group: string) =>
    Object.fromEntries(Array.from({ length: times }, (_, i) => [`X-Key-${i}`, `file:${referTo(group, i)}`]))
  const upstreams = Object.fromEntries(
    groups.map((group) => [group, { endpoints: ['sandbox'], request: { set: setOf(group) } }]),
  )
  const folder = folderWith({ 'gateway.yaml': JSON.stringify({ upstreams, admin }), key: 'a secret' })
  return loadConfig(join(folder, 'gateway.yaml'), {})
}

// As many as a group takes.
const times = 100

test('a file that is referred to many times is read and compared once', () => {
  const { ok, sources } = load(() => 'key')

  expect(ok).toBe(true)
  expect(sources.map(({ file }) => file.split('/').at(-1))).toEqual(['gateway.yaml', 'key'])
})

test('each reference beyond the limit is one problem, and no more files are watched', () => {
  const loaded = load((group, i) => `missing-${group}-${i}`, { token: 'file:token', metricsToken: 'file:metrics' })
  const problems = loaded.ok ? [] : loaded.problems

  const beyond = problems.filter(({ message }) => message === 'too many files')
  expect(beyond).toHaveLength(groups.length * times + 2 - 256)
  expect(problems.filter(({ path }) => path.startsWith('admin.'))).toEqual(beyond.slice(-2))
  expect(loaded.sources).toHaveLength(257)
})
