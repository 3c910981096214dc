import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Config } from '../../../src/core/config/config.ts'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { groups } from '../../../src/operations.ts'
import { configurations, load, secretsBeside, textOf, tokenBeside } from './configurations.ts'
import { scratch } from './files.ts'

const originsOf = ({ upstreams }: Config) => new Set(groups.map((group) => upstreams[group].endpoints[0]?.origin))

test.each(configurations)(
  '$name listens at 8080 for machines elsewhere, and has no warning but of its sandbox',
  ({ name }) => {
    const { config, warnings } = load(name)
    const isSandbox = ['the image', 'kubernetes, demo'].includes(name)

    expect(warnings.map(({ path }) => path)).toEqual(isSandbox ? ['allowSandbox'] : [])
    expect(config).toMatchObject({ listen: { host: '0.0.0.0', port: 8080 }, allowSandbox: isSandbox })
    expect(originsOf(config).size).toBe(isSandbox ? 1 : groups.length) // an upstream for each group
    expect(originsOf(config).has('sandbox')).toBe(isSandbox)
  },
)

test('production lets in only clients that it names, to operations that it names, on all nine', () => {
  const { auth, clients, operations } = load('kubernetes, production').config

  expect(auth?.methods).toEqual(['apiKey'])
  expect(Object.values(operations).filter(({ auth }) => auth === null)).toEqual([])
  expect(clients.map(({ id, operations }) => [id, operations?.length])).toEqual([['bank-a', 3]])
})

test('the image warns loudly of the sandbox, and has the admin listener on its own loopback', () => {
  const { config, warnings } = load('the image')

  expect(config.admin).toMatchObject({ host: '127.0.0.1', port: 9901, token: null })
  expect(warnings[0]?.message).toMatch(/^THE SANDBOX SERVES OTHER MACHINES/)
})

test("the unit's configuration reads the token from systemd's copy, and from the file beside it where there is none", () => {
  const credentials = scratch({ 'admin-token': 'c'.repeat(32) })

  expect(load('systemd', { CREDENTIALS_DIRECTORY: credentials }).config.admin.token).toBe('c'.repeat(32))
  expect(load('systemd').config.admin.token).toBe(tokenBeside)
})

test('a ConfigMap and a Secret in one projected volume are read through its symbolic links', () => {
  const folder = scratch({})
  const contents = scratch({ 'gateway.yaml': textOf('kubernetes, production'), ...secretsBeside })
  cpSync(contents, join(folder, '..2026'), { recursive: true })
  symlinkSync('..2026', join(folder, '..data'))
  for (const name of ['gateway.yaml', ...Object.keys(secretsBeside)])
    symlinkSync(join('..data', name), join(folder, name))

  const result = loadConfig(join(folder, 'gateway.yaml'), {})

  expect(result.ok && result.config.admin.token).toBe(tokenBeside)
})
