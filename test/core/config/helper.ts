import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Config } from '../../../src/core/config/config.ts'
import type { Environment } from '../../../src/core/config/environment.ts'
import type { LoadResult } from '../../../src/core/config/load/load.ts'
import { parseConfig } from '../../../src/core/config/load/load-config.ts'
import type { ConfigProblem } from '../../../src/core/config/problem.ts'

/** A complete `upstreams` in one line, so that a snippet's own lines keep their numbers. */
export const sandbox =
  'upstreams: { valuation: sandbox, financing: sandbox, analysis: sandbox, risk: sandbox, inventory: sandbox, leads: sandbox, compliance: sandbox, market: sandbox }'

/** Puts the lines of one group below the seven others; the group's key stands on line 9. */
export const withRisk = (risk: string): string =>
  `upstreams:\n${['valuation', 'financing', 'analysis', 'inventory', 'leads', 'compliance', 'market'].map((group) => `  ${group}: sandbox\n`).join('')}  risk:${risk}`

/** Parses a text as the file `gateway.yaml`. */
export const parse = (text: string, environment: Environment = {}, file = 'gateway.yaml'): LoadResult =>
  parseConfig(Buffer.from(text), file, environment)

/** Parses a valid text; throws with its problems when it has any. */
export function validConfig(text: string, environment: Environment = {}, file = 'gateway.yaml'): Config {
  const result = parse(text, environment, file)
  if (!result.ok) throw new Error(JSON.stringify(result.problems, null, 2))
  return result.config
}

/** Parses a broken text, and returns its problems. */
export function findProblems(
  text: string,
  environment: Environment = {},
  file = 'gateway.yaml',
): readonly ConfigProblem[] {
  const result = parse(text, environment, file)
  return result.ok ? [] : result.problems
}

/** Makes a new folder with these files, which is gone after the run. */
export function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(inject('configurationFolders'), 'folder-'))
  for (const [name, contents] of Object.entries(files)) writeFileSync(join(folder, name), contents)
  return folder
}

/** A file that takes far longer than a few milliseconds to load, on any machine. */
export const slowFile = `upstreams:\n${'  - { a: b }\n'.repeat(50_000)}`
