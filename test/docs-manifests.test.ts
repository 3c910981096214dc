/** Holds the manifests that are made of other files to those files. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { madeManifests } from '../scripts/manifests.ts'

test.each(madeManifests())('$file is as `npm run manifests` writes it', ({ file, text }) => {
  const there = readFileSync(new URL(`../config/examples/${file}`, import.meta.url), 'utf8')

  expect(there === text, '`npm run manifests` writes it').toBe(true)
})
