import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { programCommand } from '../../../../src/core/lib/program.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { insights, load, scoring, scoringSchema } from './loading.ts'

/** Broken contracts, each with its problems behind `!`: a whole file, its paths, or the schema of a request. */
const broken = fileURLToPath(new URL('broken.txt', import.meta.url))

const document = 'openapi: 3.1.1\ninfo: { title: t, version: "1" }\npaths:\n'
const schemaAt = '  /valuation/score:\n    post:\n      requestBody:\n        content:\n          application/json:\n'
const responses = "      responses:\n        '200': { description: scored }\n"

const toFile = (kind: string | undefined, text: string): string => {
  if (kind !== 'schema') return kind === 'paths' ? document + text : text
  const [schema = '', components] = text.split(/^components:\n/m)
  const rest = components === undefined ? '' : `components:\n${components}`
  return `${document}${schemaAt}            schema:\n${schema.replace(/^/gm, ' '.repeat(14)).trimEnd()}\n${responses}${rest}`
}

test('each problem of a contract has a line, a column and a remedy', () => {
  const expected = readFileSync(broken, 'utf8')
  const printed = expected
    .trimEnd()
    .split('\n\n')
    .map((section) => {
      const [name = '', ...lines] = section.split('\n')
      const input = lines.filter((line) => !line.startsWith('!'))
      const text = toFile(/\w+/.exec(name)?.[0], input.map((line) => `${line.slice(2)}\n`).join(''))
      const { contract, problems } = loadContract(folderWith({ 'contract.yaml': text }), 'contract.yaml')
      expect(contract).toBeNull()
      const told = problems.map(({ line, column, path, message, expected, found, hint }) => {
        const short = path.replace(scoringSchema, '<schema>')
        return `! ${line}:${column} ${short}: ${[message, expected, found, hint].join(' | ')}`
      })
      return [name, ...input, ...told].join('\n').replaceAll(programCommand(), 'lender-gateway')
    })
  if (process.env.UPDATE_GOLDEN !== undefined) writeFileSync(broken, `${printed.join('\n\n')}\n`)

  expect(`${printed.join('\n\n')}\n`).toBe(expected)
})

test.each([
  ['in JSON', String.raw`{"openapi":"3.1.1","components":{"schemas":{"\u005f_proto__":{}}}}`],
  ['in YAML', String.raw`{openapi: 3.1.1, components: {schemas: {"\x5f_proto__": {}}}}`],
])('a member named __proto__ is rejected however it is written, %s', (_, text) => {
  const { problems } = loadContract(folderWith({ contract: text }), 'contract')

  const column = text.indexOf('\\')
  expect(problems).toMatchObject([{ path: 'components.schemas.__proto__', column, message: 'unknown key' }])
})

const listOf = (length: number, name: string, value: object) =>
  Object.fromEntries(Array.from({ length }, (_, index) => [`${name}${index}`, value]))

test('problems and warnings beyond a hundred are counted', () => {
  const { problems } = load({ openapi: '3.1.1', paths: listOf(150, '/pets/', {}) })
  const { problems: none, warnings } = load(scoring({ properties: listOf(120, 'p', { format: 'moon-phase' }) }))

  expect([problems.length, problems.at(-1)?.message]).toEqual([101, '50 more problems are not shown'])
  expect(none).toEqual([])
  expect([warnings.length, warnings.at(-1)?.message]).toEqual([101, '21 more warnings are not shown'])
})

// RFC 9110 §7.6.1: they end at the gateway, whatever the upstream sends.
test('fields of one connection in a response do nothing, with a warning', () => {
  const headers = { 'Transfer-Encoding': { required: true, schema: {} }, 'X-A': { required: true, schema: {} } }
  const { contract, warnings } = load(insights({ responses: { 200: { description: 'ok', headers } } }))

  expect(contract?.operations['market.insights']?.responses[0]?.headers).toMatchObject([{ name: 'x-a' }])
  expect(warnings.map(({ path }) => path)).toContain(
    'paths."/market/insights".get.responses.200.headers.Transfer-Encoding',
  )
})
