/** A draft as a contract: what it accepts, by Ajv. */

import type { ValidateFunction } from 'ajv'
import { createAjv } from '../../../../src/features/contract/compile/compile-contract.ts'
import type { DraftPart } from '../../../../src/features/contract-learning/learn/draft.ts'

/** The parts of a draft's operation that are compared with traffic. */
export interface DraftOperation {
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: DraftPart
  }[]
  readonly requestBody?: DraftContent & { readonly required: boolean }
  readonly responses: Readonly<Record<string, DraftContent>>
  readonly 'x-gap'?: string
}

/** The content of a message in a draft. */
export interface DraftContent {
  readonly content?: Readonly<
    Record<string, { readonly schema?: DraftPart; readonly 'x-gap'?: string; readonly 'x-seen': string }>
  >
}

/** Finds an operation in a draft. */
export const operationOf = (draft: DraftPart, path: string, method: string): DraftOperation => {
  const { paths } = draft as { paths: Record<string, Record<string, DraftOperation>> }
  const found = paths[path]?.[method]
  if (found === undefined) throw new Error(`the draft has no ${method} ${path}`)
  return found
}

/** Compiles a schema of a draft as that of a contract. */
export const compileSchema = (schema: DraftPart): ValidateFunction => {
  const ajv = createAjv({ allErrors: false, ownProperties: true, validateSchema: true })
  ajv.addVocabulary(['x-seen', 'x-null', 'x-gap', 'x-range', 'x-length', 'x-items'])
  return ajv.compile(schema)
}

/** Compiles a draft's operation to checks of JSON bodies. */
export const compileOperation = ({ requestBody, responses }: DraftOperation) => ({
  acceptsRequest: compileSchema(requestBody?.content?.['application/json']?.schema ?? {}),
  acceptsResponse: compileSchema(responses['200']?.content?.['application/json']?.schema ?? {}),
})
