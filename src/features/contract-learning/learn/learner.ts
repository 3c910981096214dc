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
import {
  createLearnedContent,
  findOrAddOperation,
  type LearnedContent,
  type LearnedContract,
  type LearnedOperation,
  mergeOperation,
} from './learned-contract.ts'
import { findOrAddKnownName, learnedInTable } from './name-table.ts'
import { childShapes, forgetItems, forgetMembers, type LearningContext, measureContext, type Shape } from './shape.ts'

export interface LearnerOptions {
  /** Whether the values of strings that look like enumerations are kept. */
  readonly enums: boolean
  /** What hashes of names are keyed with: one secret for all workers, made anew at each start. */
  readonly key: string
  /** Names of header fields by which clients authenticate, beyond the usual: none of them is learnt. */
  readonly credentialFields: readonly string[]
}

export interface ObservedRequest extends ObservedContent {
  /** The query as it came, with its question mark; empty for none. */
  readonly query: string
  readonly fields: HeaderFields
}

export interface ObservedResponse extends ObservedContent {
  readonly status: number
}

export interface Learner {
  observeRequest(operation: OperationId, request: ObservedRequest): void
  observeResponse(operation: OperationId, response: ObservedResponse): void
  keepEnums(enums: boolean): void
  /** Takes over what another learner of the same key has learnt. It stays as it is. */
  adopt(learned: LearnedContract): void
  /** What was learnt so far. It goes on changing. */
  readonly report: LearnedContract
}

const maxStatuses = 16

/**
 * Creates a learner. It keeps counts, shapes, and names that several requests had; it keeps no value, save those of
 * enumerations when `enums` asks for them. Its memory is bounded: what finds no room is counted, or forgotten for good.
 */
export const createLearner = ({ enums: enumsAtFirst, key, credentialFields }: LearnerOptions): Learner => {
  let enums = enumsAtFirst
  const report: LearnedContract = { operations: new Map() }
  const sides = new Map<OperationId, OperationSides>()
  const contexts: LearningContext[] = []
  const omitted = new Set(credentialFields.map(foldUnderscores))

  const createContext = (listRoots: () => readonly Shape[]): LearningContext => {
    const context = { enums, key, listRoots, message: 0, shapes: 0, values: 0 }
    contexts.push(context)
    return context
  }
  const findSides = (operation: OperationId): OperationSides => {
    const known = sides.get(operation)
    if (known !== undefined) return known
    const { request, responses } = findOrAddOperation(report, operation)
    const added = {
      request,
      responses,
      requestContext: createContext(() => [...parameterShapes(request), ...bodyShapes(request.content)]),
      responseContext: createContext(() => learnedInTable(responses).flatMap(bodyShapes)),
    }
    sides.set(operation, added)
    return added
  }

  return {
    report,
    observeRequest(operation, observed) {
      const { request, requestContext: context } = findSides(operation)
      context.message++
      learnQuery(context, request, observed.query)
      learnFields(context, request, observed.fields, omitted)
      learnContent(context, request.content, observed)
      limitShapes(contexts)
    },
    observeResponse(operation, observed) {
      const { responses, responseContext: context } = findSides(operation)
      context.message++
      const content = findStatus(responses, observed.status)
      if (content === undefined) return
      learnContent(context, content, observed)
      limitShapes(contexts)
    },
    keepEnums(wanted) {
      enums = wanted
      for (const context of contexts) context.enums = wanted
    },
    adopt({ operations }) {
      for (const [id, operation] of operations) {
        const own = findSides(id)
        mergeOperation(own, operation)
        for (const context of [own.requestContext, own.responseContext]) measureContext(context)
      }
      limitShapes(contexts)
    },
  }
}

/** What was learnt of an operation, with the bounds of its two directions. */
interface OperationSides extends LearnedOperation {
  readonly requestContext: LearningContext
  readonly responseContext: LearningContext
}

const findStatus = (responses: LearnedOperation['responses'], status: number): LearnedContent | undefined =>
  findOrAddKnownName(responses, String(status), { max: maxStatuses, create: createLearnedContent })

const maxShapes = 4096

/**
 * Forgets shapes until the rest fits: the deepest objects and arrays, level by level, of the operation that has most.
 * What is above them keeps its names, and no client can crowd out what is known of another operation.
 */
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

/** Forgets the deepest level at least, and as many as it takes to come down to `max`. */
const forgetDeepest = (context: LearningContext, max: number): void => {
  const levels = listLevels(context.listRoots())
  let below = context.shapes
  do {
    below -= levels.pop()?.length ?? 0
    for (const shape of levels.at(-1) ?? []) forgetContents(shape)
  } while (below > max && levels.length > 1)
  measureContext(context)
}

/** Lists the shapes of each depth, the roots first. */
const listLevels = (roots: readonly Shape[]): (readonly Shape[])[] => {
  const levels: (readonly Shape[])[] = []
  for (let level = roots; level.length > 0; level = level.flatMap(childShapes)) levels.push(level)
  return levels
}

const forgetContents = (shape: Shape): void => {
  if (childShapes(shape).length === 0) return
  if (shape.arrays !== null) forgetItems(shape.arrays)
  if (shape.objects !== null) forgetMembers(shape.objects)
}
