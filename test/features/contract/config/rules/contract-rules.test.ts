import { expect, test } from 'vitest'
import { findProblems, sandbox, validConfig } from '../../../../core/config/helper.ts'

test.each(['{ }', '{ request: enforce }', '{ learn: false, enums: true }'])(
  'a contract of %s says neither what messages are held to nor that it is learnt',
  (contract) => {
    expect(findProblems(`${sandbox}\ncontract: ${contract}`)).toMatchObject([
      { path: 'contract', found: 'neither', hint: expect.stringMatching(/file: contract\.yaml.*learn: true/) },
    ])
  },
)

test('a contract that is only learnt holds no operation to anything', () => {
  const config = validConfig(
    `${sandbox}\ncontract: { learn: true, request: enforce }\noperations: { valuation.score: { contract: { response: enforce } } }`,
  )

  expect(config.contract).toMatchObject({ file: null, learn: true, enums: false })
  expect(config.compiledContract).toBe(null)
  expect(Object.values(config.operations).map(({ contract }) => contract)).toEqual(
    Array.from({ length: 9 }, () => ({ request: 'off', response: 'off', unchecked: 'pass' })),
  )
})
