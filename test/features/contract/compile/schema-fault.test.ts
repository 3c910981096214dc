import { expect, test, vi } from 'vitest'
import { compileSchemas, SchemaFault } from '../../../../src/features/contract/compile/compile-contract.ts'
import { load, scoring, scoringSchema } from './loading.ts'

const file = '../../../../src/features/contract/compile/compile-contract.ts'
const { compileSchemas: actual } = await vi.importActual<{ compileSchemas: typeof compileSchemas }>(file)
vi.mock('../../../../src/features/contract/compile/compile-contract.ts', { spy: true })

test('a schema that Ajv rejects is known by its name', () => {
  const compile = () => actual({ s0: { type: 'string' }, s1: { unknown: 1 } })

  expect(compile).toThrow(expect.objectContaining({ schema: 's1', message: expect.stringContaining('"unknown"') }))
})

test('a problem that only Ajv finds is reported at the schema', () => {
  vi.mocked(compileSchemas).mockImplementation(() => {
    throw new SchemaFault('s0', new RangeError('Maximum call stack size exceeded'))
  })
  const { problems } = load(scoring({ type: 'object' }))

  const found = 'it leads through too many schemas'
  expect(problems).toMatchObject([{ path: scoringSchema, message: 'the schema cannot be compiled', found }])
})
