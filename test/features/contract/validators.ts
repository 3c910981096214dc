import type { ParameterContract } from '../../../src/features/contract/check/compiled-contract.ts'
import { type ContractValidators, createValidators } from '../../../src/features/contract/check/validators.ts'
import { compileSchemas } from '../../../src/features/contract/compile/compile-contract.ts'

/** The name under which {@link validatorsOf} compiles its schema. */
export const schemaName = 's0'

/**
 * Compiles one schema as a contract is compiled. It may refer to `shared` by {@link sharedSchema}; `memberNames` are
 * the names that violations may tell.
 */
export const validatorsOf = (
  schema: object | boolean,
  shared: Readonly<Record<string, unknown>> = {},
  memberNames: readonly string[] = [],
): ContractValidators =>
  createValidators({
    digest: '',
    operations: {},
    document: {},
    memberNames,
    ...compileSchemas({ [schemaName]: schema }, shared),
  })

/** Returns a check that lists the rules of one schema that a value breaks. */
export const rulesOf = (...schema: Parameters<typeof validatorsOf>) => {
  const validators = validatorsOf(...schema)
  return (value: unknown, bytes = JSON.stringify(value).length): readonly string[] =>
    validators.validate(schemaName, value, 'body', { bytes }).map(({ rule }) => rule)
}

/** Describes a parameter that says nothing, beside what is given. */
export const parameterOf = (more: Partial<ParameterContract>): ParameterContract => ({
  in: 'query',
  name: 'p',
  required: false,
  style: 'form',
  explode: true,
  allowsEmpty: false,
  types: [],
  itemTypes: [],
  memberTypes: {},
  otherMemberTypes: [],
  schema: null,
  ...more,
})
