import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../../src/core/config/load/load-config.ts'
import { groups } from '../../../src/operations.ts'
import { configurations, getWarnings, load, secretsBeside, textOf, tokenBeside } from './configurations.ts'
import { scratch } from './files.ts'

const serveSandbox = ['the image', 'kubernetes, demo']

describe.each(configurations)('$name', ({ name }) => {
  test('has no problem, and no warning but the one of the sandbox', () => {
    const warned = getWarnings(name).map(({ path }) => path)

    expect(warned).toEqual(serveSandbox.includes(name) ? ['allowSandbox'] : [])
  })

  test('listens on the port that everything around it names, for machines elsewhere', () => {
    expect(load(name).config.listen).toMatchObject({ host: '0.0.0.0', port: 8080 })
  })
})

test.each(configurations.filter(({ name }) => !serveSandbox.includes(name)))(
  '$name sends every group to an upstream of its own, and none to the sandbox',
  ({ name }) => {
    const { upstreams, allowSandbox } = load(name).config

    const origins = groups.map((group) => upstreams[group].endpoints[0]?.origin)
    expect(allowSandbox).toBe(false)
    expect(origins).not.toContain('sandbox')
    expect(new Set(origins).size).toBe(groups.length)
  },
)

test('production lets in only clients that it names, to operations that it names, on all nine', () => {
  const { auth, clients, operations } = load('kubernetes, production').config

  expect(auth?.methods).toEqual(['apiKey'])
  expect(Object.values(operations).filter(({ auth }) => auth === null)).toEqual([])
  expect(clients.map(({ id, operations }) => [id, operations?.length])).toEqual([['bank-a', 3]])
})

test('the image starts with all groups on the sandbox, loudly, and with the admin listener on its own loopback', () => {
  const { config, warnings } = load('the image')

  const { upstreams, allowSandbox, admin } = config
  expect(allowSandbox).toBe(true)
  expect(new Set(groups.map((group) => upstreams[group].endpoints[0]?.origin))).toEqual(new Set(['sandbox']))
  expect(admin).toMatchObject({ host: '127.0.0.1', port: 9901, token: null })
  expect(warnings[0]?.message).toMatch(/^THE SANDBOX ANSWERS OTHER MACHINES/)
})

test("the unit's configuration reads the token from systemd's copy, and from the file beside it where there is none", () => {
  const credentials = scratch({ 'admin-token': 'c'.repeat(32) })

  const [inService, byHand] = [load('systemd', { CREDENTIALS_DIRECTORY: credentials }), load('systemd')]

  expect(inService.config.admin.token).toBe('c'.repeat(32))
  expect(byHand.config.admin.token).toBe(tokenBeside)
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
