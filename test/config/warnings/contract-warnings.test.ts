import { expect, test } from 'vitest'
import { contractFile } from '../../helpers/contract.ts'
import { parse, sandbox } from '../helper.ts'

/** The warnings of the configuration, without those of the contract's own file. */
const warningsOf = (text: string) => {
  const result = parse(`${sandbox}\n${text}`)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings
    .filter(({ file }) => file === 'gateway.yaml')
    .map(({ path, message, found }) => [path, message, found])
}

const unchecked = 'larger bodies pass unchecked, though the contract is enforced: valuation.score'

test('an enforced contract that leaves large bodies unchecked gets a warning', () => {
  const file = contractFile()

  expect(warningsOf(`contract: { file: ${file}, request: enforce }`)).toEqual([
    ['contract.maxBody', unchecked, '64MiB above 1MiB'],
  ])
  expect(warningsOf(`contract: { file: ${file}, request: enforce }\ndefaults: { maxBody: none }`)).toEqual([
    ['contract.maxBody', unchecked, 'none above 1MiB'],
  ])
  expect(warningsOf(`contract: { file: ${file}, request: enforce }\ndefaults: { maxBody: 1MiB }`)).toEqual([])
  expect(warningsOf(`contract: { file: ${file}, response: enforce }`)).toEqual([])
})

test('modes of an operation that the contract leaves out get a warning', () => {
  const operation = 'operations: { leads.pipeline: { contract: { request: enforce } } }'

  expect(warningsOf(`contract: { file: ${contractFile()} }\n${operation}`)).toEqual([
    ['operations.leads.pipeline.contract', 'this does nothing: the contract does not have the operation', 'none'],
  ])
  expect(warningsOf(operation)).toEqual([
    ['operations.leads.pipeline.contract', 'this does nothing: there is no contract', 'none'],
  ])
})

test('modes that enforce nothing, for learning has taken the place of a file, get a warning', () => {
  const nothing = 'this enforces nothing: no file says what the contract is'

  expect(warningsOf('contract: { learn: true, request: enforce, response: enforce }')).toEqual([
    ['contract.request', nothing, 'enforce'],
    ['contract.response', nothing, 'enforce'],
  ])
  expect(warningsOf('contract: { learn: true, request: off }')).toEqual([])
})
