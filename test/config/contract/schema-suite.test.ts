/**
 * The official JSON Schema Test Suite through the loader of contracts. The package from npm has the tests of draft 4:
 * most keywords mean the same in 2020-12, and those that do not are refused. With JSON_SCHEMA_TEST_SUITE, a folder with
 * a clone of the suite, those of 2020-12 run instead.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { loadContract } from '../../../src/config/contract/load-contract.ts'
import { createValidators } from '../../../src/contract/validators.ts'
import { folderWith } from '../helper.ts'

interface Group {
  readonly description: string
  readonly schema: unknown
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[]
}

const clone = process.env.JSON_SCHEMA_TEST_SUITE
const packaged = dirname(createRequire(import.meta.url).resolve('json-schema-test-suite/package.json'))
const folder = clone === undefined ? join(packaged, 'tests/draft4') : join(clone, 'tests/draft2020-12')

// What is refused on purpose, with the reason: groups of draft 4 by file.
const otherKeyword = 'a keyword that is not supported'
const notASchema = 'this is not a schema'
const outside = 'the reference leads out of the folder of the contract'
const refusedOnPurpose: Readonly<Record<string, readonly string[]>> = {
  'additionalItems.json': [notASchema, otherKeyword, notASchema, otherKeyword, notASchema], // prefixItems in 2020-12
  'definitions.json': [outside, outside], // refers to the meta-schema on the network
  'dependencies.json': [otherKeyword, otherKeyword, otherKeyword], // dependentRequired in 2020-12
  'items.json': [notASchema], // a list: prefixItems in 2020-12
  'maximum.json': ['exclusiveMaximum: the schema is invalid'], // a number in 2020-12
  'minimum.json': ['exclusiveMinimum: the schema is invalid'],
  'ref.json': [notASchema, 'unknown keyword', outside],
  'refRemote.json': [outside, outside, outside, 'unknown keyword'], // no network; `id`
}

const contract = JSON.stringify({
  openapi: '3.1.1',
  info: { title: 'test', version: '1' },
  paths: {
    '/valuation/score': {
      post: {
        requestBody: { content: { 'application/json': { schema: { $ref: 'schema.json' } } } },
        responses: { 200: { description: 'scored' } },
      },
    },
  },
})

test('every test of a schema that is not refused on purpose is passed', { timeout: 300_000 }, () => {
  const failed: string[] = []
  const refused: Record<string, string[]> = {}
  let [passed, total] = [0, 0]
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
    const groups: readonly Group[] = JSON.parse(readFileSync(join(folder, file), 'utf8'))
    for (const { schema, tests, description } of groups) {
      total += tests.length
      const files = folderWith({ 'contract.json': contract, 'schema.json': JSON.stringify(schema) })
      const { contract: compiled, problems } = loadContract(files, 'contract.json')
      if (compiled === null) {
        refused[file] = [...(refused[file] ?? []), problems[0]?.message ?? '']
        continue
      }
      const validators = createValidators(compiled)
      const name = compiled.operations['valuation.score']?.request.body?.content[0]?.schema ?? ''
      for (const { description: what, data, valid } of tests) {
        const isValid = validators.validate(name, data, 'body', { bytes: 1000 }).length === 0
        if (isValid === valid) passed++
        else failed.push(`${file}: ${description}: ${what}`)
      }
    }
  }
  console.log(`${passed} of ${total} passed, ${failed.length} failed, ${total - passed - failed.length} refused`)
  if (clone !== undefined) console.log(refused)

  expect(failed).toEqual([])
  expect(passed).toBeGreaterThan(200)
  if (clone === undefined) expect(refused).toEqual(refusedOnPurpose)
})
