import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the tests of a run put their folders with configurations, some thousand of them. */
    readonly configurationFolders: string
    /** The seed of all property tests: fixed in `npm test`, so that it never fails by chance; random in the drills. */
    readonly propertySeed: number
  }
}

/** Makes the folder before a run of the tests, and removes it with all that is in it after them. */
export default ({ provide, vitest }: TestProject): (() => void) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tests-'))
  provide('configurationFolders', folder)
  const areDrills = vitest.projects.every(({ name }) => name.startsWith('drills'))
  const seed = areDrills ? Number(process.env.PROPERTY_SEED ?? randomInt(2 ** 31)) : 1
  provide('propertySeed', seed)
  if (areDrills) process.stdout.write(`Property tests: PROPERTY_SEED=${seed}\n`)
  // A worker of the tests may still write while it ends.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}
