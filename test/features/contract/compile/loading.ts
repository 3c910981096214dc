import { createValidators } from '../../../../src/features/contract/check/validators.ts'
import { loadContract } from '../../../../src/features/contract/compile/load-contract.ts'
import { folderWith } from '../../../core/config/helper.ts'

/** Loads a contract from a new folder, with other files beside it. */
export const load = (document: object, files: Readonly<Record<string, string>> = {}): ReturnType<typeof loadContract> =>
  loadContract(folderWith({ ...files, 'contract.json': JSON.stringify(document) }), 'contract.json')

/** The content of a body that is JSON of a schema. */
export const jsonOf = (schema: unknown) => ({ content: { 'application/json': { schema } } })

/** Where a schema of {@link scoring} stands. */
export const scoringSchema = 'paths."/valuation/score".post.requestBody.content."application/json".schema'

/** A contract of one operation whose request has a schema, with what else stands in it. */
export const scoring = (schema: unknown, more: object = {}) => ({
  openapi: '3.1.1',
  paths: {
    '/valuation/score': { post: { requestBody: jsonOf(schema), responses: { 200: { description: 'scored' } } } },
  },
  ...more,
})

/** A contract of one operation that is a GET. */
export const insights = (get: object, more: object = {}) => ({
  openapi: '3.1.1',
  paths: { '/market/insights': { get: { responses: { 200: { description: 'insights' } }, ...get } } },
  ...more,
})

/** Returns a check of requests of a contract of {@link scoring}: the rules that a body breaks. */
export const bodyRulesOf = ({ contract }: ReturnType<typeof loadContract>) => {
  if (contract === null) throw new Error('there is no contract')
  const schema = contract.operations['valuation.score']?.request.body?.content[0]?.schema ?? ''
  const validators = createValidators(contract)
  return (value: unknown, bytes: number): readonly string[] =>
    validators.validate(schema, value, 'body', { bytes }).map(({ rule }) => rule)
}
