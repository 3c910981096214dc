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

test('an enforced contract where what cannot be checked passes gets one warning', () => {
  const contract = `file: ${contractFile()}`
  const message = 'what cannot be checked passes, though the contract is enforced: valuation.score, market.insights'
  const warning = ['contract.unchecked', message, 'pass']

  expect(warningsOf(`contract: { ${contract}, request: enforce }`)).toEqual([warning])
  expect(warningsOf(`contract: { ${contract}, response: enforce }`)).toEqual([warning])
  expect(warningsOf(`contract: { ${contract}, request: enforce, unchecked: refuse }`)).toEqual([])
  expect(warningsOf(`contract: { ${contract} }`)).toEqual([])
  expect(
    warningsOf(
      `contract: { ${contract}, unchecked: refuse }
operations: { valuation.score: { contract: { request: enforce, unchecked: pass } } }`,
    ),
  ).toEqual([['contract.unchecked', message.replace(', market.insights', ''), 'pass']])
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
