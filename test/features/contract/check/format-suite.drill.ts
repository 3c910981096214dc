/** The formats of the official JSON Schema Test Suite for 2020-12, its folder `optional/format`. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { formats } from '../../../../src/features/contract/check/formats.ts'
import { rulesOf } from '../validators.ts'

interface Group {
  readonly schema: { readonly format: string }
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[]
}

// Not a part of the project: it lies beside it.
const suite = new URL('../../../../../shared/data/json-schema-format/', import.meta.url)
const isThere = existsSync(suite)
if (!isThere) console.warn('skipped: the suite of formats is not there, in ../shared/data/json-schema-format')

/** Formats that are not checked: `regex` would compile what a client wrote, and the suite has an unknown one. */
const leftOut = ['regex', 'unknown']

test.skipIf(!isThere)('every test of a format that is checked is passed', () => {
  const failed: string[] = []
  const unchecked: Record<string, number> = {}
  let passed = 0
  for (const file of readdirSync(suite)) {
    const groups: readonly Group[] = JSON.parse(readFileSync(new URL(file, suite), 'utf8'))
    for (const { schema, tests } of groups) {
      if (!Object.hasOwn(formats, schema.format)) {
        unchecked[schema.format] = (unchecked[schema.format] ?? 0) + tests.length
        continue
      }
      const rules = rulesOf({ format: schema.format })
      for (const { description, data, valid } of tests)
        if ((rules(data, 1000).length === 0) === valid) passed++
        else failed.push(`${file}: ${description}: ${JSON.stringify(data)}`)
    }
  }
  console.log(`${passed} passed, ${failed.length} failed; left out: ${JSON.stringify(unchecked)}`)

  expect(failed).toEqual([])
  expect(Object.keys(unchecked).sort()).toEqual(leftOut)
  expect(passed).toBeGreaterThan(700)
})
