import type { Config } from '../../../core/config/config.ts'
import type { OperationId } from '../../../operations.ts'

export const contractModes = ['off', 'report', 'enforce'] as const

export type ContractMode = (typeof contractModes)[number]

export const uncheckedModes = ['pass', 'reject'] as const

type UncheckedMode = (typeof uncheckedModes)[number]

export interface OperationContractModes {
  readonly request: ContractMode
  readonly response: ContractMode
  readonly unchecked: UncheckedMode
}

export const modesWithoutContract: OperationContractModes = { request: 'off', response: 'off', unchecked: 'pass' }

export const defaultMaxCheckedBytes = 1024 ** 2

export interface CompiledContract {
  /** The SHA-256 of all files of the contract, in hex. */
  readonly digest: string
  /** A CommonJS module by Ajv with a validator for each {@link SchemaName}, which stops at the first violation. */
  readonly code: string
  /** Finds all violations: slow for large bodies, so it only describes small ones. */
  readonly detailedCode: string
  readonly operations: Readonly<Partial<Record<OperationId, OperationContract>>>
  /** Reports and logs show no other name of a member. */
  readonly memberNames: readonly string[]
  /** OpenAPI 3.1 as plain JSON, without references to other files. Null in a worker. */
  readonly document: unknown
}

export type SchemaName = string

export interface OperationContract {
  readonly request: RequestContract
  readonly responses: readonly ResponseContract[]
  readonly line: number
}

export interface RequestContract {
  readonly parameters: readonly ParameterContract[]
  readonly body: BodyContract | null
}

export interface BodyContract {
  readonly required: boolean
  readonly content: readonly MediaTypeContract[]
}

export interface MediaTypeContract {
  /** `application/json`, `text/*`. */
  readonly type: string
  readonly parameters?: readonly MediaTypeParameter[]
  /** Null: any value, or a type other than JSON, whose bodies are not checked. */
  readonly schema: SchemaName | null
}

export type MediaTypeParameter = readonly [name: string, value: string]

export interface ParameterContract {
  readonly in: 'query' | 'header'
  /** In lower case for a field. */
  readonly name: string
  readonly required: boolean
  /** OpenAPI 3.1 §4.8.12.3: how the text becomes a value. */
  readonly style: 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'simple' | 'json'
  readonly explode: boolean
  /** `allowEmptyValue`: `?name=` keeps the contract, whatever the schema says. */
  readonly allowsEmpty: boolean
  /** A text becomes a number only where the schema allows a number. */
  readonly types: readonly JsonType[]
  readonly itemTypes: readonly JsonType[]
  readonly memberTypes: Readonly<Record<string, readonly JsonType[]>>
  /** Empty: a string. */
  readonly otherMemberTypes: readonly JsonType[]
  /** For the style `deepObject`: items of members that may be arrays. */
  readonly memberItemTypes?: Readonly<Record<string, readonly JsonType[]>>
  readonly otherItemTypes?: readonly JsonType[]
  readonly schema: SchemaName | null
}

export type JsonType = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'

export interface ResponseContract {
  readonly status: string
  readonly headers: readonly ParameterContract[]
  /** Null: the contract says nothing of the body. */
  readonly content: readonly MediaTypeContract[] | null
}

export const upstreamErrorRule = 'upstream-error'

export const enforcesContract = (config: Config, id: OperationId, direction: 'request' | 'response'): boolean =>
  config.operations[id].contract[direction] === 'enforce' && config.compiledContract?.operations[id] !== undefined
