import { expect, test } from 'vitest'
import { disallowedPackages, readPackageLock, shippedPackages } from '../scripts/licences.ts'

const lockOf = (packages: Readonly<Record<string, { version?: string; license?: string; dev?: boolean }>>) => ({
  packages: { '': { version: '0.1.0', license: 'Apache-2.0' }, ...packages },
})

test('every package that ships has a licence of the allow-list', () => {
  const shipped = shippedPackages(readPackageLock())

  expect(disallowedPackages(shipped)).toEqual([])
  expect(shipped.map(({ name }) => name)).toEqual(expect.arrayContaining(['fastify', 'undici', 'uplot']))
})

test('a package with another licence is disallowed, and so is one that states none or a choice', () => {
  const lock = lockOf({
    'node_modules/good': { version: '1.0.0', license: 'MIT' },
    'node_modules/@scope/copyleft': { version: '2.0.0', license: 'AGPL-3.0-only' },
    'node_modules/good/node_modules/silent': { version: '3.0.0' },
    'node_modules/choice': { version: '4.0.0', license: '(MIT OR GPL-2.0)' },
  })

  expect(disallowedPackages(shippedPackages(lock))).toEqual([
    { name: '@scope/copyleft', version: '2.0.0', licence: 'AGPL-3.0-only' },
    { name: 'silent', version: '3.0.0', licence: null },
    { name: 'choice', version: '4.0.0', licence: '(MIT OR GPL-2.0)' },
  ])
})

test('a package for development alone does not ship', () => {
  const lock = lockOf({ 'node_modules/tool': { version: '1.0.0', license: 'GPL-3.0-only', dev: true } })

  expect(shippedPackages(lock)).toEqual([])
})
