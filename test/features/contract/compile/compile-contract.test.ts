import { expect, test } from 'vitest'
import {
  CompileTimeout,
  compileSchemas,
  countedKeyword,
} from '../../../../src/features/contract/compile/compile-contract.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { folderWith } from '../../../core/config/helper.ts'

test('what many references lead to is compiled once', () => {
  const names = (length: number, schema: object) =>
    Object.fromEntries(Array.from({ length }, (_, i) => [`m${i}`, schema]))
  const contract = JSON.stringify({
    openapi: '3.1.1',
    info: { title: 'test', version: '1' },
    paths: {
      '/valuation/score': {
        post: {
          requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Asset' } } } },
          responses: { 200: { description: 'scored' } },
        },
      },
    },
    components: {
      schemas: {
        Part: { type: 'object', properties: names(30, { type: 'string', maxLength: 40 }) },
        Asset: { type: 'object', properties: names(1_000, { $ref: '#/components/schemas/Part' }) },
      },
    },
  })
  const { contract: compiled, problems } = loadContract(folderWith({ 'contract.json': contract }), 'contract.json')

  expect(problems).toEqual([])
  expect(contract.length).toBeLessThan(46_000)
  // A copy at each reference made 8 MB of code, in 8 s.
  expect(compiled?.code.length).toBeLessThan(600_000)
})

test('compiling ends in the middle of a schema when its time is over', () => {
  const schema = {
    [countedKeyword]: 0,
    properties: { first: { [countedKeyword]: 0 }, last: { [countedKeyword]: 0, 'not-reached': true } },
  }

  expect(() => compileSchemas({ s0: schema }, {}, -1)).toThrow(CompileTimeout)
  expect(() => compileSchemas({ s0: schema })).toThrow('not-reached')
})
