import { cpSync, symlinkSync as link } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { groups } from '../../src/catalog.ts'
import { loadConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problem.ts'
import { folderWith } from '../config/helper.ts'
import { configurations } from './configurations.ts'
import { read } from './files.ts'

const load = (text: string, environment = {}) => {
  const folder = folderWith({ 'gateway.yaml': text, 'admin-token': `${'k'.repeat(64)}\n` })
  const result = loadConfig(join(folder, 'gateway.yaml'), environment)
  if (!result.ok) throw new Error(formatProblems(result.problems))
  return result
}

describe.each(configurations)('$name', ({ name, text }) => {
  test('has no problem, and no warning but the one of the sandbox', () => {
    const warned = load(text).warnings.map(({ path }) => path)

    expect(warned).toEqual(name === 'the image' ? ['allowSandbox'] : [])
  })

  test('listens on the port that everything around it names, for machines elsewhere', () => {
    expect(load(text).config.listen).toMatchObject({ host: '0.0.0.0', port: 8080 })
  })
})

test.each(configurations.filter(({ name }) => name !== 'the image'))(
  '$name sends every group to an upstream of its own, and none to the sandbox',
  ({ text }) => {
    const { upstreams, allowSandbox } = load(text).config

    const origins = groups.map((group) => upstreams[group].endpoints[0]?.origin)
    expect(allowSandbox).toBe(false)
    expect(origins).not.toContain('sandbox')
    expect(new Set(origins).size).toBe(groups.length)
  },
)

test('the image starts with all groups on the sandbox, and with the admin listener on its own loopback', () => {
  const { config, warnings } = load(read('config/image.yaml'))

  const { upstreams, allowSandbox, admin } = config
  expect(allowSandbox).toBe(true)
  expect(new Set(groups.map((group) => upstreams[group].endpoints[0]?.origin))).toEqual(new Set(['sandbox']))
  expect(admin).toMatchObject({ host: '127.0.0.1', port: 9901, token: null })
  expect(warnings[0]?.message).toMatch(/^THE SANDBOX ANSWERS/) // loud: start-up logs each warning
})

test("the unit's configuration reads the token from systemd's copy, and from the file beside it where there is none", () => {
  const credentials = folderWith({ 'admin-token': 'c'.repeat(32) })

  const text = configurations.find(({ name }) => name === 'systemd')?.text ?? ''

  expect(load(text, { CREDENTIALS_DIRECTORY: credentials }).config.admin.token).toBe('c'.repeat(32))
  expect(load(text).config.admin.token).toBe('k'.repeat(64))
})

test('a ConfigMap and a Secret in one projected volume are read through its symbolic links', () => {
  const folder = folderWith({})
  const kubernetes = configurations.find(({ name }) => name === 'kubernetes')?.text ?? ''
  cpSync(folderWith({ 'gateway.yaml': kubernetes, 'admin-token': 's'.repeat(64) }), join(folder, '..2026'), {
    recursive: true,
  })
  link('..2026', join(folder, '..data'))
  for (const name of ['gateway.yaml', 'admin-token']) link(join('..data', name), join(folder, name))

  const result = loadConfig(join(folder, 'gateway.yaml'), {})

  expect(result.ok && result.config.admin.token).toBe('s'.repeat(64))
})
