import { foldUnderscores, type HeaderFields } from '../../../core/exchange/header-fields.ts'
import type { OperationId } from '../../../operations.ts'
import {
  bodyShapes,
  learnContent,
  learnFields,
  learnQuery,
  type ObservedContent,
  parameterShapes,
} from './learn-message.ts'
import { createLearnedContent, findOrAddOperation, type LearnedContract, mergeOperation } from './learned-contract.ts'
import { findOrAddName, learnedInTable } from './name-table.ts'
import { childShapes, forgetItems, forgetMembers, type LearningContext, measureContext, type Shape } from './shape.ts'

export interface LearnerOptions {
  readonly enums: boolean
  /** For hashes of names: one secret for all workers, new at each start. */
  readonly key: string
  readonly credentialFields: readonly string[]
}

export type ObservedRequest = ObservedContent & { readonly query: string; readonly fields: HeaderFields }
export type ObservedResponse = ObservedContent & { readonly status: number }

export type Learner = ReturnType<typeof createLearner>

const maxStatuses = 16

/** Memory is bounded: what finds no room is counted, or forgotten. */
export const createLearner = ({ enums: enumsAtFirst, key, credentialFields }: LearnerOptions) => {
  let enums = enumsAtFirst
  const report: LearnedContract = { operations: new Map() }
  const contexts: LearningContext[] = []
  const omitted = new Set(credentialFields.map(foldUnderscores))

  const createContext = (listRoots: () => readonly Shape[]): LearningContext => {
    const context = { enums, key, listRoots, message: 0, shapes: 0, values: 0 }
    contexts.push(context)
    return context
  }
  const createSides = (operation: OperationId) => {
    const { request, responses } = findOrAddOperation(report, operation)
    const requestContext = createContext(() => [...parameterShapes(request), ...bodyShapes(request.content)])
    const responseContext = createContext(() => learnedInTable(responses).flatMap(bodyShapes))
    return { request, responses, requestContext, responseContext }
  }
  const sides = new Map<OperationId, ReturnType<typeof createSides>>()
  const findSides = (operation: OperationId) => {
    const found = sides.get(operation) ?? createSides(operation)
    sides.set(operation, found)
    return found
  }

  return {
    report,
    observeRequest(operation: OperationId, observed: ObservedRequest): void {
      const { request, requestContext: context } = findSides(operation)
      context.message++
      learnQuery(context, request, observed.query)
      learnFields(context, request, observed.fields, omitted)
      learnContent(context, request.content, observed)
      limitShapes(contexts)
    },
    observeResponse(operation: OperationId, observed: ObservedResponse): void {
      const { responses, responseContext: context } = findSides(operation)
      context.message++
      const table = { max: maxStatuses, create: createLearnedContent }
      const content = findOrAddName(responses, String(observed.status), null, table)
      if (content === undefined) return
      learnContent(context, content, observed)
      limitShapes(contexts)
    },
    keepEnums(wanted: boolean): void {
      enums = wanted
      for (const context of contexts) context.enums = wanted
    },
    adopt({ operations }: LearnedContract): void {
      for (const [id, operation] of operations) {
        const own = findSides(id)
        mergeOperation(own, operation)
        for (const context of [own.requestContext, own.responseContext]) measureContext(context)
      }
      limitShapes(contexts)
    },
  }
}

const maxShapes = 4096

/** Forgets the deepest levels of the largest operation: no client can crowd out what is known of another. */
const limitShapes = (contexts: readonly LearningContext[]): void => {
  let total = 0
  for (const { shapes } of contexts) total += shapes
  while (total > maxShapes) {
    const [largest] = contexts.toSorted((a, b) => b.shapes - a.shapes)
    if (largest === undefined || largest.shapes === 0) return
    total -= largest.shapes
    forgetDeepest(largest, maxShapes - total)
    total += largest.shapes
  }
}

const forgetDeepest = (context: LearningContext, max: number): void => {
  const levels: (readonly Shape[])[] = []
  for (let level = context.listRoots(); level.length > 0; level = level.flatMap(childShapes)) levels.push(level)
  let below = context.shapes
  do {
    below -= levels.pop()?.length ?? 0
    for (const shape of levels.at(-1) ?? []) forgetContents(shape)
  } while (below > max && levels.length > 1)
  measureContext(context)
}

const forgetContents = (shape: Shape): void => {
  if (childShapes(shape).length === 0) return
  if (shape.arrays !== null) forgetItems(shape.arrays)
  if (shape.objects !== null) forgetMembers(shape.objects)
}
