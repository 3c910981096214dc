import type { OperationId } from '../../../operations.ts'

/** What becomes of a request or a response that breaks the contract: nothing, a count, or an error. */
export const contractModes = ['off', 'report', 'enforce'] as const

export type ContractMode = (typeof contractModes)[number]

/** What becomes of an enforced message of which the body cannot be checked. */
export const uncheckedModes = ['pass', 'refuse'] as const

export type UncheckedMode = (typeof uncheckedModes)[number]

export interface OperationContractModes {
  readonly request: ContractMode
  readonly response: ContractMode
  readonly unchecked: UncheckedMode
}

/** The modes of every operation where there is no contract. */
export const modesWithoutContract: OperationContractModes = { request: 'off', response: 'off', unchecked: 'pass' }

/** The largest body that is checked beyond its type, in bytes, where the file does not say: 1 MiB. */
export const defaultMaxCheckedBytes = 1024 ** 2

/** A contract that was read, checked and compiled: plain data, for every process that serves. */
export interface CompiledContract {
  /** The SHA-256 of the files that it was read from, in hex. */
  readonly digest: string
  /**
   * The text of a CommonJS module by Ajv. It exports a validator for each name of {@link SchemaName}, which stops at
   * the first violation.
   */
  readonly code: string
  /** The same with all violations. It is slow for large bodies, and serves to describe small ones. */
  readonly detailedCode: string
  readonly operations: Readonly<Partial<Record<OperationId, OperationContract>>>
  /** Every name of a member that the schemas know: no other name is shown to anyone. */
  readonly memberNames: readonly string[]
  /** One OpenAPI 3.1 document, as plain JSON: it refers to nothing outside itself. Null in a worker. */
  readonly document: unknown
}

/** The export of a validator in the compiled code. */
export type SchemaName = string

export interface OperationContract {
  readonly request: RequestContract
  readonly responses: readonly ResponseContract[]
  /** Where it stands in the file of the contract, counted from 1. */
  readonly line: number
}

export interface RequestContract {
  readonly parameters: readonly ParameterContract[]
  /** Null: the contract says nothing of a body. */
  readonly body: BodyContract | null
}

export interface BodyContract {
  /** Whether a request without a body breaks the contract. */
  readonly required: boolean
  readonly content: readonly MediaTypeContract[]
}

/** One type of a body: `application/json`, `text/*`. */
export interface MediaTypeContract {
  /** In lower case, without parameters. */
  readonly type: string
  /** The parameters that a body has to state. Left out: none. */
  readonly parameters?: readonly MediaTypeParameter[]
  /** Null: any value, or a type other than JSON, which is not checked. */
  readonly schema: SchemaName | null
}

/** A parameter of a media type: its name in lower case, and its value without quotation marks. */
export type MediaTypeParameter = readonly [name: string, value: string]

/** A parameter in the query, or in a field of the header. */
export interface ParameterContract {
  readonly in: 'query' | 'header'
  /** As the contract spells it; in lower case for a field. */
  readonly name: string
  readonly required: boolean
  /** How its text becomes a value (OpenAPI 3.1 §4.8.12.3). */
  readonly style: 'form' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject' | 'simple' | 'json'
  readonly explode: boolean
  /** Whether `?name=`, without a value, keeps the contract, whatever the schema says (`allowEmptyValue`). */
  readonly allowsEmpty: boolean
  /** What the schema allows: a text stands for a number only where a number is allowed. */
  readonly types: readonly JsonType[]
  /** The types of an array's items; empty: any, or no array. */
  readonly itemTypes: readonly JsonType[]
  /** The types of an object's members, for the styles that have members. */
  readonly memberTypes: Readonly<Record<string, readonly JsonType[]>>
  /** The types of an object's other members; empty: a text. */
  readonly otherMemberTypes: readonly JsonType[]
  /** The types of the items of members that may be an array, in the style `deepObject`. Left out: there are none. */
  readonly memberItemTypes?: Readonly<Record<string, readonly JsonType[]>>
  /** The same of the other members. */
  readonly otherItemTypes?: readonly JsonType[]
  /** Null: any value. */
  readonly schema: SchemaName | null
}

export type JsonType = 'null' | 'boolean' | 'integer' | 'number' | 'string' | 'array' | 'object'

/** What the contract says of the responses with some status. */
export interface ResponseContract {
  /** `200`, `2XX` or `default`. */
  readonly status: string
  readonly headers: readonly ParameterContract[]
  /** Null: the contract says nothing of the body. */
  readonly content: readonly MediaTypeContract[] | null
}

interface ContractSettings {
  readonly compiledContract: CompiledContract | null
  readonly operations: Readonly<
    Record<OperationId, { readonly contract: { readonly request: ContractMode; readonly response: ContractMode } }>
  >
}

export const enforcesContract = (
  { operations, compiledContract }: ContractSettings,
  id: OperationId,
  direction: 'request' | 'response',
): boolean => operations[id].contract[direction] === 'enforce' && compiledContract?.operations[id] !== undefined
