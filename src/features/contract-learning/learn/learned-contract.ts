import type { OperationId } from '../../../operations.ts'
import type { NameTable } from './name-table.ts'
import type { Shape } from './shape.ts'

/**
 * What was learnt of the contract: plain data, which goes from a worker to the primary by structured clone. It holds
 * names, counts and shapes, and no value but those of enumerations.
 */
export interface LearnedContract {
  readonly operations: Map<OperationId, LearnedOperation>
}

export interface LearnedOperation {
  readonly request: LearnedRequest
  /** By status. */
  readonly responses: NameTable<LearnedContent>
}

export interface LearnedRequest {
  readonly parameters: NameTable<LearnedParameter>
  /** Names of header fields that are not the protocol's. */
  readonly fields: NameTable<LearnedName>
  readonly content: LearnedContent
  /** How many names of parameters and fields were not recorded, because they look like data. */
  dataNames: number
}

/** What was learnt of a name that requests may have more than once: all that is known of a header field. */
export interface LearnedName {
  count: number
  /** In how many requests it came more than once. */
  repeated: number
}

export interface LearnedParameter extends LearnedName {
  /** How many of its values are `true` or `false`, whole numbers, or numbers at all. */
  booleans: number
  integers: number
  numbers: number
  /** All its values, as strings. */
  readonly values: Shape
}

export interface LearnedContent {
  count: number
  /** How many of them had neither a body nor a content type. */
  empty: number
  /** How many had a content type that is none, or looks like data. */
  untyped: number
  readonly mediaTypes: NameTable<LearnedMediaType>
}

export interface LearnedMediaType {
  count: number
  readonly body: Shape
}
