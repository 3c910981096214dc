import type { OperationId } from '../../../operations.ts'
import { createNameTable, mergeNameTable, type NameTable } from './name-table.ts'
import { createShape, mergeShape, type Shape } from './shape.ts'

/** Plain data for structured clone to the primary. It has no values but those of enumerations. */
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
  /** Without those of the protocol. */
  readonly fields: NameTable<LearnedName>
  readonly content: LearnedContent
  /** Names of parameters and fields that look like data. */
  dataNames: number
}

export interface LearnedName {
  count: number
  /** Requests that had the name more than once. */
  repeated: number
}

export interface LearnedParameter extends LearnedName {
  /** Values that read as `true` or `false`, as whole numbers, as numbers. */
  booleans: number
  integers: number
  numbers: number
  /** All values, as strings. */
  readonly values: Shape
}

export interface LearnedContent {
  count: number
  /** Without a body and a content type. */
  empty: number
  /** With an invalid content type, or one that looks like data. */
  untyped: number
  readonly mediaTypes: NameTable<LearnedMediaType>
}

export interface LearnedMediaType {
  count: number
  readonly body: Shape
}

export const createField = (): LearnedName => ({ count: 0, repeated: 0 })

export const createParameter = (): LearnedParameter => ({
  count: 0,
  repeated: 0,
  booleans: 0,
  integers: 0,
  numbers: 0,
  values: createShape(),
})

export const createLearnedContent = (): LearnedContent => ({
  count: 0,
  empty: 0,
  untyped: 0,
  mediaTypes: createNameTable(),
})

export const createMediaType = (): LearnedMediaType => ({ count: 0, body: createShape() })

/**
 * For learners with one key, in any order. A name that no learner saw three times stays unnamed, however often all of
 * them saw it together.
 */
export const mergeLearned = (reports: readonly LearnedContract[]): LearnedContract => {
  const merged: LearnedContract = { operations: new Map() }
  for (const { operations } of reports) {
    for (const [id, operation] of operations) mergeOperation(findOrAddOperation(merged, id), operation)
  }
  return merged
}

export const findOrAddOperation = ({ operations }: LearnedContract, operation: OperationId): LearnedOperation => {
  const known = operations.get(operation)
  if (known !== undefined) return known
  const added: LearnedOperation = {
    request: {
      parameters: createNameTable(),
      fields: createNameTable(),
      content: createLearnedContent(),
      dataNames: 0,
    },
    responses: createNameTable(),
  }
  operations.set(operation, added)
  return added
}

export const mergeOperation = (into: LearnedOperation, { request, responses }: LearnedOperation): void => {
  mergeNameTable(into.request.parameters, request.parameters, parameterEntries)
  mergeNameTable(into.request.fields, request.fields, fieldEntries)
  mergeContent(into.request.content, request.content)
  into.request.dataNames += request.dataNames
  mergeNameTable(into.responses, responses, { create: createLearnedContent, merge: mergeContent })
}

const mergeContent = (into: LearnedContent, from: LearnedContent): void => {
  into.count += from.count
  into.empty += from.empty
  into.untyped += from.untyped
  mergeNameTable(into.mediaTypes, from.mediaTypes, mediaTypeEntries)
}

const mediaTypeEntries = {
  create: createMediaType,
  merge: (into: LearnedMediaType, from: LearnedMediaType): void => {
    into.count += from.count
    mergeShape(into.body, from.body)
  },
}

const fieldEntries = {
  create: createField,
  merge: (into: LearnedName, from: LearnedName): void => {
    into.count += from.count
    into.repeated += from.repeated
  },
}

const parameterEntries = {
  create: createParameter,
  merge: (into: LearnedParameter, from: LearnedParameter): void => {
    fieldEntries.merge(into, from)
    into.booleans += from.booleans
    into.integers += from.integers
    into.numbers += from.numbers
    mergeShape(into.values, from.values)
  },
}
