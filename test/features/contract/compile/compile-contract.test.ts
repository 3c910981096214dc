import { expect, test } from 'vitest'
import {
  CompileTimeout,
  compileSchemas,
  countedKeyword,
} from '../../../../src/features/contract/compile/compile-contract.ts'
import { load, scoring } from './loading.ts'

test('a schema with many references is compiled once', () => {
  const names = (length: number, schema: object) =>
    Object.fromEntries(Array.from({ length }, (_, i) => [`m${i}`, schema]))
  const schemas = {
    Part: { type: 'object', properties: names(30, { type: 'string', maxLength: 40 }) },
    Asset: { type: 'object', properties: names(1_000, { $ref: '#/components/schemas/Part' }) },
  }

  const { contract, problems } = load(scoring({ $ref: '#/components/schemas/Asset' }, { components: { schemas } }))

  expect(problems).toEqual([])
  // A copy at each reference made 8 MB of code, in 8 s.
  expect(contract?.code.length).toBeLessThan(600_000)
})

test('compiling ends in the middle of a schema when its time is over', () => {
  const schema = {
    [countedKeyword]: 0,
    properties: { first: { [countedKeyword]: 0 }, last: { [countedKeyword]: 0, 'not-reached': true } },
  }

  expect(() => compileSchemas({ s0: schema }, {}, -1)).toThrow(CompileTimeout)
  expect(() => compileSchemas({ s0: schema })).toThrow('not-reached')
})
