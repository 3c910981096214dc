import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import { askTheNine, copyWithout, featureNames, withDependents } from '../../scripts/without.ts'

const leaveOut = async (names: readonly string[], { onTestFinished }: TestContext): Promise<string> => {
  const folder = await copyWithout(names)
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

const run = (folder: string, ...words: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile('npx', words, { cwd: folder }, (error, stdout) => resolve(error === null ? 'good' : stdout))
  })

/** Checks the types of the source, and the style of the one file that was edited. */
const check = async (folder: string) => {
  const file = join(folder, 'tsconfig.json')
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), include: ['src'] }))
  // A shorter list may fit on a line.
  await run(folder, 'biome', 'check', '--write', 'src/features/index.ts')
  return {
    style: await run(folder, 'biome', 'check', '--error-on-warnings', 'src/features/index.ts'),
    types: await run(folder, 'tsc', '--noEmit'),
  }
}

interface Pair {
  readonly stays: string
  readonly goes: string
}

/**
 * Chooses what copies lack, so that of each two features one copy has the first and lacks the second, if the first does
 * not need it: a feature that uses a type of another's is found with a dozen compilations. The last has no feature.
 */
const chooseSets = (): readonly (readonly string[])[] => {
  let pairs: readonly Pair[] = featureNames.flatMap((goes) =>
    featureNames.filter((name) => !withDependents([goes]).includes(name)).map((stays) => ({ stays, goes })),
  )
  const left = (set: readonly string[]) => pairs.filter(({ stays, goes }) => !set.includes(goes) || set.includes(stays))
  const sets: (readonly string[])[] = []
  while (pairs.length > 0) {
    let set: readonly string[] = []
    for (const name of featureNames) {
      const more = withDependents([...set, name])
      if (left(more).length < left(set).length) set = more
    }
    sets.push(set)
    pairs = left(set)
  }
  return [...sets, featureNames]
}

const allServed = Array(9).fill(200)

describe.concurrent('features are left out:', { timeout: 600_000 }, () => {
  test.for(featureNames)('without %s, and what needs it, the nine are served', async (name, context) => {
    expect(await askTheNine(await leaveOut(withDependents([name]), context))).toEqual(allServed)
  })

  test.for(chooseSets().map((names) => ({ names, list: names.join(', ') })))(
    'without $list, types and style are good and the nine are served',
    async ({ names }, context) => {
      const folder = await leaveOut(names, context)

      expect(await check(folder)).toEqual({ style: 'good', types: 'good' })
      expect(await askTheNine(folder)).toEqual(allServed)
    },
  )
})
