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

const checkTypes = (folder: string) => {
  const file = join(folder, 'tsconfig.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), include: ['src'] }))
  const { stdout, status } = spawnSync('npx', ['tsc', '--noEmit'], { cwd: folder, encoding: 'utf8' })
  return { status, stdout }
}

const allServed = Array(9).fill(200)

// Others still read keys or reports of these without needing them.
const entangled = [
  'auth',
  'cache',
  'candidate',
  'contract',
  'idempotency',
  'limits',
  'proxy-protocol',
  'redis',
  'retry',
  'workers',
]

test.each(featureNames.filter((name) => !entangled.includes(name)))(
  'without %s, and what needs it, the types are good and the nine are served',
  async (name) => {
    const folder = leaveOut([name])

    expect(checkTypes(folder)).toEqual({ status: 0, stdout: '' })
    expect(await askTheNine(folder)).toEqual(allServed)
  },
)

test('with no feature at all, the types are good and the nine are served', async () => {
  const folder = leaveOut(featureNames)

  expect(checkTypes(folder)).toEqual({ status: 0, stdout: '' })
  expect(await askTheNine(folder)).toEqual(allServed)
})
