import type { OperationId } from '../../../operations.ts'
import { createLearnedContent, createMediaType } from './learn-content.ts'
import { createField } from './learn-fields.ts'
import { createParameter } from './learn-query.ts'
import type {
  LearnedContent,
  LearnedContract,
  LearnedMediaType,
  LearnedName,
  LearnedOperation,
  LearnedParameter,
} from './learned-contract.ts'
import { mergeShape } from './merge-shape.ts'
import { createNameTable, mergeNameTable } from './name-table.ts'

/**
 * Merges what several learners of one key have learnt, as if one had learnt it all. The order plays no part, and the
 * reports stay as they are. A name that none of them saw three times stays unnamed, however often all did together.
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
