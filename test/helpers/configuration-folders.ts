import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the tests of a run put their folders with configurations, some thousand of them. */
    readonly configurationFolders: string
  }
}

/** Makes the folder before a run of the tests, and removes it with all that is in it after them. */
export default ({ provide }: TestProject): (() => void) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tests-'))
  provide('configurationFolders', folder)
  return () => rmSync(folder, { recursive: true, force: true })
}
