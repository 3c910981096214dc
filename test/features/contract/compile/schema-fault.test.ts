import { basename, dirname } from 'node:path'
import { expect, test, vi } from 'vitest'
import { compileSchemas, SchemaFault } from '../../../../src/features/contract/compile/compile-contract.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { contractFile } from '../../../helpers/contract.ts'

const { compileSchemas: actual } = await vi.importActual<{ compileSchemas: typeof compileSchemas }>(
  '../../../../src/features/contract/compile/compile-contract.ts',
)
vi.mock('../../../../src/features/contract/compile/compile-contract.ts', { spy: true })

test('a schema that Ajv refuses is known by its name', () => {
  const compile = () => actual({ s0: { type: 'string' }, s1: { unknown: 1 } })

  expect(compile).toThrow(expect.objectContaining({ schema: 's1', message: expect.stringContaining('"unknown"') }))
})

test('what Ajv alone refuses is told at the schema', () => {
  vi.mocked(compileSchemas).mockImplementation(() => {
    throw new SchemaFault('s1', new RangeError('Maximum call stack size exceeded'))
  })
  const file = contractFile()

  const { problems } = loadContract(dirname(file), basename(file))

  expect(problems).toMatchObject([
    {
      path: 'paths."/valuation/score".post.requestBody.content."application/json".schema',
      message: 'the schema cannot be compiled',
      found: 'it leads through too many schemas',
    },
  ])
})
