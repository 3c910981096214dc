import { join } from 'node:path'
import { expect } from 'vitest'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { folderWith } from '../../core/config/helper.ts'
import { configText, type Settings } from '../../helpers/gateway.ts'
import { drill, test } from '../../helpers/speed.ts'

const contract = `openapi: 3.1.0
info: { title: Lender integration, version: 1.0.0 }
paths:
  /valuation/score:
    post:
      responses: { 200: { description: scored } }
  /market/insights:
    get:
      parameters: [{ name: limit, in: query, schema: { type: integer } }]
      responses: {}
`

const held: Settings = { contract: { file: 'contract.yaml' } }

/** Explains an operation, and takes the rows of the two layers: their text, and their members as JSON. */
const explain = async (settings: Settings, method: string, path: string) => {
  const folder = folderWith({ 'contract.yaml': contract, 'gateway.yaml': configText(settings) })
  const file = join(folder, 'gateway.yaml')
  const run = async (...args: readonly string[]): Promise<string> =>
    (await runCommand(['explain', method, path, '--config', file, ...args])).out.replaceAll(`${folder}/`, '')
  const rows = (await run()).split('\n').filter((line) => /^ +\d+ (request|response)-contract/.test(line))
  const { layers } = JSON.parse(await run('--format', 'json')) as { readonly layers: readonly Layer[] }
  return {
    text: rows.map((row) => row.replace(/^ +\d+ /, '').replaceAll(/ {2,}/g, '  ')),
    json: layers.filter(({ name, contract }) => name.endsWith('-contract') || contract !== undefined),
  }
}

interface Layer {
  readonly name: string
  readonly on: boolean
  readonly contract?: object
}

test('the layers of the contract show the mode, the level that states it, and where the operation stands', async () => {
  const operations = { 'valuation.score': { contract: { request: 'enforce' } } }
  const { text, json } = await explain({ ...held, operations }, 'POST', '/valuation/score')

  expect(text).toEqual([
    expect.stringMatching(
      /^request-contract {2}contract\.request: enforce {2}operation {2}gateway\.yaml:\d+; contract\.yaml:5$/,
    ),
    'response-contract  contract.response: report  built-in  contract.yaml:5',
  ])
  const place = { on: true, contract: { file: 'contract.yaml', line: 5, offBecause: null } }
  expect(json).toMatchObject([place, place])
})

test('an operation that the contract does not name is off, whatever its mode', async () => {
  const { text, json } = await explain(held, 'GET', '/leads/pipeline')

  const off = 'report (off: the contract does not name the operation)  built-in  contract.yaml'
  expect(text).toEqual([`request-contract  contract.request: ${off}`, `response-contract  contract.response: ${off}`])
  expect(json.map(({ on }) => on)).toEqual([false, false])
})

drill('responses that the contract leaves out are off, and so is what the mode says is off', async () => {
  const operations = { 'market.insights': { contract: { request: 'off' } } }
  const { text } = await explain({ ...held, operations }, 'GET', '/market/insights')

  expect(text).toEqual([
    expect.stringMatching(/^request-contract {2}contract\.request: off {2}operation {2}gateway\.yaml:\d+; /),
    'response-contract  contract.response: report (off: the contract has no responses of the operation)  built-in  contract.yaml:8',
  ])
})

test('without a contract the layers are off, and no place is shown', async () => {
  const { text, json } = await explain({}, 'GET', '/market/insights')

  expect(text).toEqual([
    'request-contract  contract.request: off  built-in',
    'response-contract  contract.response: off  built-in',
  ])
  expect(json.some((layer) => 'contract' in layer)).toBe(false)
})

drill('where the contract is learned only, no line of the file is said to switch a mode off', async () => {
  const { text } = await explain({ contract: { learn: true, request: 'enforce' } }, 'GET', '/market/insights')

  expect(text[0]).toBe('request-contract  contract.request: off  built-in')
})
