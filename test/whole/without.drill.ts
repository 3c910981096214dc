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

interface Pair {
  readonly stays: string
  readonly goes: string
}

/**
 * Chooses what is left out, so that of each two features the first is once there without the second, if it does not
 * need it: a feature that uses another's, or a type of it, is found with ten copies. The last has no feature.
 */
const chooseSets = (): readonly (readonly string[])[] => {
  let pairs: readonly Pair[] = featureNames.flatMap((goes) =>
    featureNames.filter((name) => !withDependents([goes]).includes(name)).map((stays) => ({ stays, goes })),
  )
  const left = (set: readonly string[]) => pairs.filter(({ stays, goes }) => !set.includes(goes) || set.includes(stays))
  const withMore = (set: readonly string[]): readonly string[] => {
    const sets = featureNames.map((name) => withDependents([...set, name]))
    const [best = set] = sets.sort((a, b) => left(a).length - left(b).length)
    return left(best).length < left(set).length ? withMore(best) : set
  }
  const sets: (readonly string[])[] = []
  while (pairs.length > 0) {
    const set = withMore([])
    sets.push(set)
    pairs = left(set)
  }
  return [...sets, featureNames]
}

test.concurrent.for(chooseSets().map((names) => ({ names, list: names.join(', ') })))(
  'without $list, the nine are served, types and style are good',
  { timeout: 600_000 },
  async ({ names }, { onTestFinished }) => {
    expect(await askTheNine(names)).toEqual(Array(9).fill(200))

    const folder = await copyWithout(names)
    onTestFinished(() => rmSync(folder, { recursive: true }))

    expect(await check(folder)).toEqual({ style: 'good', types: 'good' })
  },
)
