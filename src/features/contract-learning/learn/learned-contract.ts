import type { OperationId } from '../../../operations.ts'
import { addCounts, createNameTable, mergeNameTable } from './name-table.ts'
import { createShape, mergeShape } from './shape.ts'

/** Plain data, sent to the primary. It has no values but those of enumerations. */
export interface LearnedContract {
  readonly operations: Map<OperationId, LearnedOperation>
}

export type LearnedOperation = ReturnType<typeof createOperation>
export type LearnedRequest = LearnedOperation['request']
export type LearnedContent = ReturnType<typeof createLearnedContent>
type LearnedMediaType = ReturnType<typeof createMediaType>
type LearnedName = ReturnType<typeof createField>
export type LearnedParameter = ReturnType<typeof createParameter>

const createOperation = () => ({
  request: {
    parameters: createNameTable<LearnedParameter>(),
    fields: createNameTable<LearnedName>(),
    content: createLearnedContent(),
    dataNames: 0,
  },
  responses: createNameTable<LearnedContent>(),
})

/** `repeated`: requests that had the name more than once. */
export const createField = () => ({ count: 0, repeated: 0 })

/** Values that read as `true` or `false`, as whole numbers, as numbers; `values`: all, as strings. */
export const createParameter = () => ({
  ...createField(),
  booleans: 0,
  integers: 0,
  numbers: 0,
  values: createShape(),
})

export const createLearnedContent = () => ({
  count: 0,
  empty: 0,
  untyped: 0,
  mediaTypes: createNameTable<LearnedMediaType>(),
})

export const createMediaType = () => ({ count: 0, body: createShape() })

/** For learners with one key. A name that no learner saw three times stays unnamed, however often all saw it. */
export const mergeLearned = (reports: readonly LearnedContract[]): LearnedContract => {
  const merged: LearnedContract = { operations: new Map() }
  for (const { operations } of reports)
    for (const [id, operation] of operations) mergeOperation(findOrAddOperation(merged, id), operation)
  return merged
}

export const findOrAddOperation = ({ operations }: LearnedContract, id: OperationId): LearnedOperation => {
  const operation = operations.get(id) ?? createOperation()
  operations.set(id, operation)
  return operation
}

export const mergeOperation = (into: LearnedOperation, { request, responses }: LearnedOperation): void => {
  addCounts('dataNames')(into.request, request)
  mergeNameTable(into.request.parameters, request.parameters, createParameter, (one, other) => {
    addCounts('count', 'repeated', 'booleans', 'integers', 'numbers')(one, other)
    mergeShape(one.values, other.values)
  })
  mergeNameTable(into.request.fields, request.fields, createField, addCounts('count', 'repeated'))
  mergeContent(into.request.content, request.content)
  mergeNameTable(into.responses, responses, createLearnedContent, mergeContent)
}

const mergeContent = (into: LearnedContent, from: LearnedContent): void => {
  addCounts('count', 'empty', 'untyped')(into, from)
  mergeNameTable(into.mediaTypes, from.mediaTypes, createMediaType, (one, other) => {
    addCounts('count')(one, other)
    mergeShape(one.body, other.body)
  })
}
