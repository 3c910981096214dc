import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { folderWith } from '../core/config/helper.ts'
import { type Machine, needProgram, program } from './program.ts'

let directory: string

beforeEach(() => {
  directory = folderWith({})
})
afterEach(() => void vi.restoreAllMocks())

const put = (name: string): string => {
  const path = join(directory, name)
  writeFileSync(path, '#!/bin/sh\n', { mode: 0o755 })
  return path
}

const machine = (overrides: Partial<Machine> = {}): Machine => ({
  env: {},
  directories: [directory],
  isRoot: true,
  install: async () => {
    throw new Error('Reading package lists…\nE: Unable to locate package')
  },
  ...overrides,
})

test('a program that is present is found, and nothing is installed', async () => {
  const path = put('nginx')

  expect(await program('nginx', machine())).toEqual({ path, missing: null })
})

test('a missing program is installed by the name of its package', async () => {
  put('apt-get')
  const asked: string[] = []
  const install = async (packageName: string) => {
    asked.push(packageName)
    put('h2load')
  }

  expect(await program('h2load', machine({ install }))).toEqual({ path: join(directory, 'h2load'), missing: null })
  expect(asked).toEqual(['nghttp2-client'])
})

test('a missing program gives a reason: not root, no apt-get, or the last line of what apt-get said', async () => {
  const notRoot = await program('nginx', machine({ isRoot: false }))
  const noApt = await program('nginx', machine())
  put('apt-get')
  const failed = await program('nginx', machine())

  expect(notRoot.missing).toBe('nginx is missing (Debian: nginx-light): not root, so it cannot be installed')
  expect(noApt.missing).toContain('no apt-get')
  expect(failed.missing).toContain('apt-get failed: E: Unable to locate package')
})

test('a missing program is one line in the test that needs it, and a failure with CI=true', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const machineOf = (env: Machine['env']) => machine({ isRoot: false, env })

  expect(await needProgram('wrk', machineOf({}))).toMatchObject({ path: null })
  expect(warn.mock.calls).toEqual([['skipped: wrk is missing (Debian: wrk): not root, so it cannot be installed']])
  await expect(needProgram('wrk', machineOf({ CI: 'true' }))).rejects.toThrow('wrk is missing')
})
