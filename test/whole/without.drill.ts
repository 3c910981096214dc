import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { askTheNine, copyWithout, featureNames, withDependents } from '../../scripts/without.ts'

const run = (folder: string, program: string, ...words: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    const file = join(folder, 'node_modules/.bin', program)
    execFile(file, words, { cwd: folder }, (error, stdout) => resolve(error === null ? 'good' : stdout))
  })

/** Checks the types of the source, and the style of the one file that was edited. */
const check = async (folder: string) => {
  const file = join(folder, 'tsconfig.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), include: ['src'] }))
  return {
    // Written, as a shorter list may fit on a line.
    style: await run(folder, 'biome', 'check', '--write', '--error-on-warnings', 'src/features/index.ts'),
    types: await run(folder, 'tsc', '--noEmit', '--checkers', '1'),
  }
}

/** Draws some of the features, with all that need them. */
const drawSome = (): readonly string[] => withDependents(featureNames.filter(() => Math.random() < 0.25))

// That no feature imports one that it does not need, not even a type, is what architecture.test.ts finds. Here is what
// only a run finds. What was drawn is in the name of the test: scripts/without.ts looks at it alone.
test.concurrent.for([featureNames, drawSome()].map((names) => ({ names, list: names.join(', ') })))(
  'without $list, the nine are served, types and style are good',
  { timeout: 600_000 },
  async ({ names }, { onTestFinished }) => {
    expect(await askTheNine(names)).toEqual(Array(9).fill(200))

    const folder = await copyWithout(names)
    onTestFinished(() => rmSync(folder, { recursive: true }))

    expect(await check(folder)).toEqual({ style: 'good', types: 'good' })
  },
)
