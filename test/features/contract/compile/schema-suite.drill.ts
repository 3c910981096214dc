/** The required tests of the official JSON Schema Test Suite for 2020-12, through the loader of contracts. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { debianFile, requireFound } from '../../../helpers/program.ts'
import { bodyRulesOf, load, scoring } from './loading.ts'

interface Group {
  readonly description: string
  readonly schema: unknown
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[]
}

// The Perl package carries the suite as it was published.
const oneFile = '/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests/draft2020-12/ref.json'
const suite = requireFound(await debianFile(oneFile, 'libtest-json-schema-acceptance-perl'))

// What a contract may not have: the message, and how many tests of the suite it stands before.
const rejectedOnPurpose: Readonly<Record<string, number>> = {
  // $id, $anchor, $dynamicRef, $vocabulary: schemas refer to each other by file and path. unevaluatedItems: Ajv reads
  // it wrong beside `contains`, and beside `items` in a branch.
  'a keyword that is not supported': 143,
  'the part behind # is no JSON pointer': 2, // an anchor
  'the schema is of another dialect': 2,
  // The meta-schema, or another schema on the network.
  'the reference leads out of the folder of the contract': 47,
  // What does nothing was meant otherwise. And without `then`, Ajv takes for evaluated what a failed `if` names.
  'if does nothing alone': 21,
  'then does nothing alone': 2,
  'else does nothing alone': 2,
  'minContains does nothing alone': 2,
  'maxContains does nothing alone': 2,
  'contains does nothing with minContains: 0': 2,
  'unknown keyword': 3,
  'unknown key': 7, // a member with the name __proto__
  'no value can ever match the schema': 8,
}

const contract = scoring({ $ref: 'schema.json' })

test.skipIf(suite.missing)(
  'every test of a schema that is not rejected on purpose is passed',
  { timeout: 300_000 },
  () => {
    const folder = dirname(suite.path ?? '')
    const failed: string[] = []
    const rejected: Record<string, number> = {}
    let [passed, total] = [0, 0]
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.json'))) {
      const groups: readonly Group[] = JSON.parse(readFileSync(join(folder, file), 'utf8'))
      for (const { schema, tests, description } of groups) {
        total += tests.length
        const loaded = load(contract, { 'schema.json': JSON.stringify(schema) })
        if (loaded.contract === null) {
          const message = loaded.problems[0]?.message ?? ''
          rejected[message] = (rejected[message] ?? 0) + tests.length
          continue
        }
        const rules = bodyRulesOf(loaded)
        for (const { description: what, data, valid } of tests) {
          if ((rules(data, 1000).length === 0) === valid) passed++
          else failed.push(`${file}: ${description}: ${what}`)
        }
      }
    }
    console.log(`${passed} of ${total} passed, ${failed.length} failed, ${total - passed - failed.length} rejected`)

    expect(failed).toEqual([])
    expect(rejected).toEqual(rejectedOnPurpose)
  },
)
