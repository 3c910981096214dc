import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { askTheNine, copyWithout, featureNames, withDependents } from '../../scripts/without.ts'

/** Makes a copy without features and those that need them. */
const leaveOut = (names: readonly string[]): string => {
  const folder = copyWithout(withDependents(names))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

const run = (folder: string, ...words: readonly string[]) => {
  const { status, stdout } = spawnSync('npx', words, { cwd: folder, encoding: 'utf8' })
  return { words, status, said: status === 0 ? '' : stdout }
}

/** Checks types and style of the source. */
const check = (folder: string) => {
  const file = join(folder, 'tsconfig.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), include: ['src'] }))
  // A shorter list may fit on a line.
  run(folder, 'biome', 'check', '--write', 'src/features/index.ts')
  return [run(folder, 'tsc', '--noEmit'), run(folder, 'biome', 'check', '--error-on-warnings', 'src')]
}

const isSound = [
  { words: ['tsc', '--noEmit'], status: 0, said: '' },
  { words: ['biome', 'check', '--error-on-warnings', 'src'], status: 0, said: '' },
]

const patience = 600_000

const allServed = Array(9).fill(200)

test.each(featureNames)(
  'without %s, and what needs it, types and style are good and the nine are served',
  async (name) => {
    const folder = leaveOut([name])

    expect(check(folder)).toEqual(isSound)
    expect(await askTheNine(folder)).toEqual(allServed)
  },
  patience,
)

test(
  'with no feature at all, types and style are good and the nine are served',
  async () => {
    const folder = leaveOut(featureNames)

    expect(check(folder)).toEqual(isSound)
    expect(await askTheNine(folder)).toEqual(allServed)
  },
  patience,
)
