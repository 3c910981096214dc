import type { Operation } from '../../operations.ts'
import { asPlainObject, isPlainObject, type PlainObject } from '../../plain-object.ts'
import type { ContractOperation, ContractSource } from './contract-source.ts'

/**
 * Lists what neither the interface nor a contract says of an operation, for `x-gap`. A contract that lists parameters,
 * be it none, says which there are.
 */
export const findGaps = (
  { method }: Operation,
  contract: ContractOperation | null,
  hasSecurity: boolean,
  resolve: ContractSource['resolve'],
): readonly string[] => {
  const { pathItem = {}, operation = {} } = contract ?? {}
  const responses = Object.entries(asPlainObject(operation.responses)).map(
    ([status, response]) => [status, resolve(response) ?? {}] as const,
  )
  const isFilled: Readonly<Record<string, boolean>> = {
    'query parameters not specified': Array.isArray(operation.parameters) || Array.isArray(pathItem.parameters),
    'request body not specified': method === 'GET' || isPlainObject(operation.requestBody),
    'response statuses not specified': responses.some(([status]) => isSuccess(status)),
    'response body not specified': responses.some(
      ([status, response]) => isSuccess(status) && hasBody(status, response),
    ),
    'errors of the upstream not specified': responses.some(([status]) => /^([45]..|default)$/.test(status)),
    'authentication not specified': hasSecurity,
  }
  return Object.keys(isFilled).filter((gap) => !isFilled[gap])
}

const isSuccess = (status: string): boolean => /^(2..|default)$/.test(status)

/** Tells whether a response says what its body is, or has none (RFC 9110 §15.3.5, §15.3.6). */
const hasBody = (status: string, { content }: PlainObject): boolean => {
  const types = Object.values(asPlainObject(content))
  return /^20[45]$/.test(status) || types.some((type) => asPlainObject(type).schema !== undefined)
}
