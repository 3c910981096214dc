/**
 * Prints what it costs to check the JSON body of 2 KB of the bench, step by step and without a gateway around it:
 * `node test/bench/contract-check.ts`. A request of `--workloads json-2k` has two of them.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadContract } from '../../src/config/contract/load-contract.ts'
import { checkBody } from '../../src/contract/check-message.ts'
import { parseStrictJson } from '../../src/contract/strict-json.ts'
import { createValidators } from '../../src/contract/validators.ts'
import { benchContract } from './layers/bench-contract.ts'
import { structuredBody } from './payloads.ts'
import { median } from './stats.ts'

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

const [rounds, bodies] = [9, 20_000]
const measure = (step: () => void): number => {
  const before = process.cpuUsage()
  for (let i = 0; i < bodies; i++) step()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / bodies
}

const samples = Object.entries(steps).map(([name, step]) => ({ name, step, costs: [] as number[] }))
for (let round = 0; round <= rounds; round++)
  for (const { step, costs } of samples) {
    const cost = measure(step)
    if (round > 0) costs.push(cost) // the first is the compilers'
  }

console.log(`a body of ${bytes.length} bytes, median of ${rounds} rounds by turns, µs of CPU`)
for (const { name, costs } of samples) {
  const spread = `${Math.min(...costs).toFixed(1)} to ${Math.max(...costs).toFixed(1)}`
  console.log(`${name.padEnd(20)} ${median(costs).toFixed(1)} (${spread})`)
}
