import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { formatProblems } from '../../../../src/core/config/problem.ts'
import { programCommand } from '../../../../src/core/lib/program.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { folderWith } from '../../../core/config/helper.ts'

const folder = fileURLToPath(new URL('broken/', import.meta.url))
const golden = fileURLToPath(new URL('golden/broken.txt', import.meta.url))
const files = readdirSync(folder).toSorted()

test('each broken file is told with line, column and remedy', () => {
  const printed = files
    .map((name) => {
      const { problems } = loadContract(folder, name)
      return `# ${name}\n${formatProblems(problems.map((each) => ({ ...each, file: each.file.replace(folder, '') })))}`
    })
    .join('\n')
    .replaceAll(programCommand(), 'lender-gateway')
  if (process.env.UPDATE_GOLDEN !== undefined) writeFileSync(golden, printed)

  expect(printed).toBe(readFileSync(golden, 'utf8'))
  expect(files.length).toBeGreaterThanOrEqual(40)
})

test.each(files)('%s is refused', (name) => {
  const { contract, problems } = loadContract(folder, name)

  expect(contract).toBeNull()
  expect(problems).not.toEqual([])
})

test.each([
  ['in JSON', String.raw`{"openapi":"3.1.1","components":{"schemas":{"\u005f_proto__":{}}}}`],
  ['in YAML', String.raw`{openapi: 3.1.1, components: {schemas: {"\x5f_proto__": {}}}}`],
])('a member named __proto__ is refused however it is written, %s', (_, text) => {
  const { problems } = loadContract(folderWith({ contract: text }), 'contract')

  expect(problems.map(({ path, column, message }) => [path, column, message])).toEqual([
    ['components.schemas.__proto__', text.indexOf('\\'), 'unknown key'],
  ])
})

test('of more than a hundred problems the rest is counted', () => {
  const paths = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`/pets/${index}`, {}]))
  const folder = folderWith({ 'contract.json': JSON.stringify({ openapi: '3.1.1', paths }) })

  const { problems } = loadContract(folder, 'contract.json')

  expect(problems).toHaveLength(101)
  expect(problems.at(-1)?.message).toBe('50 more problems are not shown')
})

test('of more than a hundred warnings the rest is counted', () => {
  const formats = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`p${index}`, { format: 'moon-phase' }]))
  const requestBody = { content: { 'application/json': { schema: { properties: formats } } } }
  const paths = { '/valuation/score': { post: { requestBody, responses: {} } } }
  const folder = folderWith({ 'contract.json': JSON.stringify({ openapi: '3.1.1', paths }) })

  const { problems, warnings } = loadContract(folder, 'contract.json')

  expect(problems).toEqual([])
  expect(warnings).toHaveLength(101)
  expect(warnings.at(-1)?.message).toMatch(/^\d+ more warnings are not shown$/)
})

// RFC 9110 §7.6.1: they end at the gateway, whatever the upstream sends.
test('fields of one connection in a response do nothing, with a warning', () => {
  const headers = { 'Transfer-Encoding': { required: true, schema: {} }, 'X-A': { required: true, schema: {} } }
  const paths = { '/market/insights': { get: { responses: { 200: { description: 'ok', headers } } } } }
  const folder = folderWith({ 'contract.json': JSON.stringify({ openapi: '3.1.1', paths }) })

  const { contract, warnings } = loadContract(folder, 'contract.json')

  expect(contract?.operations['market.insights']?.responses[0]?.headers.map(({ name }) => name)).toEqual(['x-a'])
  expect(warnings.map(({ path }) => path)).toContain(
    'paths."/market/insights".get.responses.200.headers.Transfer-Encoding',
  )
})
