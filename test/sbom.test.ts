import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { readPackageLock, shippedPackages } from '../scripts/licences.ts'
import { needProgram } from './helpers/program.ts'

interface Sbom {
  readonly bomFormat: string
  readonly components: readonly { readonly name: string; readonly version: string; readonly purl: string }[]
}

const root = fileURLToPath(new URL('..', import.meta.url))
const npm = await needProgram('npm')
const run = promisify(execFile)

describe.skipIf(npm.missing !== null)('npm run --silent sbom', () => {
  test('prints CycloneDX that has every package that ships, at its version, and no other', async () => {
    const { stdout } = await run(npm.path ?? '', ['run', '--silent', 'sbom'], {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
    })

    const { bomFormat, components }: Sbom = JSON.parse(stdout)
    const { dependencies } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
    const listed = new Set(components.map(({ name, version }) => `${name}@${version}`))
    const shipped = shippedPackages(readPackageLock()).map(({ name, version }) => `${name}@${version}`)
    expect(bomFormat).toBe('CycloneDX')
    expect([...listed].sort()).toEqual([...new Set(shipped)].sort())
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(dependencies)))
  })
})
