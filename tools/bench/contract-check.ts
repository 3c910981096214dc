/**
 * Prints what it costs to check the JSON body of 2 KB of the bench, step by step and without a gateway around it:
 * `node tools/bench/contract-check.ts`. A request of `--workloads json-2k` has two of them.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkBody } from '../../src/features/contract/check/check-message.ts'
import { parseStrictJson } from '../../src/features/contract/check/strict-json.ts'
import { createValidators } from '../../src/features/contract/check/validators.ts'
import { loadContract } from '../../src/features/contract/compile/load-contract.ts'
import { measureByTurns } from './by-turns.ts'
import { benchContract } from './layers/bench-contract.ts'
import { structuredBody } from './payloads.ts'

const folder = mkdtempSync(join(tmpdir(), 'contract-check-'))
writeFileSync(join(folder, 'contract.json'), JSON.stringify(benchContract))
const { contract } = loadContract(folder, 'contract.json')
rmSync(folder, { recursive: true })
const schema = contract?.operations['valuation.score']?.request.body?.content[0]?.schema
if (contract === null || typeof schema !== 'string') throw new Error('the contract of the bench has no schema')

const validators = createValidators(contract)
const bytes = Buffer.from(structuredBody)
const validate = (value: unknown): void => {
  if (validators.validate(schema, value, 'body', { bytes: bytes.length }).length > 0) throw new Error('it is broken')
}

const steps: Readonly<Record<string, () => void>> = {
  'JSON.parse': () => JSON.parse(bytes.toString()),
  'JSON.parse and Ajv': () => validate(JSON.parse(bytes.toString())),
  'the strict parser': () => parseStrictJson(bytes),
  'the whole check': () => checkBody(schema, validators, bytes),
}

const rounds = 9
console.log(`a body of ${bytes.length} bytes, median of ${rounds} rounds by turns, µs of CPU`)
for (const { name, median, min, max } of measureByTurns(steps, { rounds, runs: 20_000 }))
  console.log(`${name.padEnd(20)} ${median.toFixed(1)} (${min.toFixed(1)} to ${max.toFixed(1)})`)
