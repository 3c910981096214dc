import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface Locked {
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

// npm writes a lock without those that its registry would not give it; `npm ci` rejects such a lock (seen with npm
// 11.19).
test('the lock names every optional dependency, those of other platforms too, so that npm ci takes it', () => {
  const { packages }: { packages: Readonly<Record<string, Locked>> } = JSON.parse(
    readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'),
  )
  const optional = Object.values(packages).flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies))

  expect(optional.filter((name) => packages[`node_modules/${name}`] === undefined)).toEqual([])
  expect(optional.length).toBeGreaterThan(10)
})
