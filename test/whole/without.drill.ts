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
  const { stdout, status } = spawnSync('npx', words, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, CI: '1' },
  })
  return { status, stdout }
}

const checkTypes = (folder: string, include: readonly string[]) => {
  const file = join(folder, 'tsconfig.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), include }))
  return run(folder, 'tsc', '--noEmit')
}

const allServed = Array(9).fill(200)

test.each(featureNames)('without %s, and what needs it, the types are good and the nine are served', async (name) => {
  const folder = leaveOut([name])

  expect(checkTypes(folder, ['src'])).toEqual({ status: 0, stdout: '' })
  expect(await askTheNine(folder)).toEqual(allServed)
})

test('with no feature at all, the types are good, the nine are served, and the tests of core pass', async () => {
  const folder = leaveOut(featureNames)

  expect(checkTypes(folder, ['src', 'test', 'scripts', 'vitest.config.ts'])).toEqual({ status: 0, stdout: '' })
  expect(await askTheNine(folder)).toEqual(allServed)
  const { status, stdout } = run(folder, 'vitest', 'run', '--project', 'shared', '--project', 'anew', 'test/core')
  expect(status, stdout).toBe(0)
})
