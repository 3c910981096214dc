import { renderDraft } from '../../../../src/features/contract-learning/learn/draft.ts'
import { mergeLearned } from '../../../../src/features/contract-learning/learn/learned-contract.ts'
import {
  createLearner,
  type LearnerOptions,
  type ObservedRequest,
} from '../../../../src/features/contract-learning/learn/learner.ts'
import { compileOperation, operationOf } from './draft-checker.ts'
import { createDraw, drawValue, type HiddenContract, listMutants, pick } from './hidden-schema.ts'

/** How tests learn, unless they say otherwise. */
export const learnerOptions: LearnerOptions = { enums: true, key: 'key of a test', credentialFields: [] }

/** A request that says nothing, beside what is given. */
export const requestOf = (more: Partial<ObservedRequest> = {}): ObservedRequest => ({
  ...{ query: '', fields: [], contentType: 'application/json', body: undefined },
  ...more,
})

/** One request with its response. */
type Message = Readonly<Record<'request' | 'response', unknown>>

/** Learns a contract from generated messages, and counts what the draft makes of them and of broken ones. */
export const learnHiddenContract = (
  { request, response }: HiddenContract,
  { messages: count, seed, learners: learnerCount = 1 }: { messages: number; seed: number; learners?: number },
) => {
  const draw = createDraw(seed)
  const learners = Array.from({ length: learnerCount }, () => createLearner(learnerOptions))
  const messages = Array.from({ length: count }, (): Message => {
    const message = { request: drawValue(draw, request), response: drawValue(draw, response) }
    const learner = pick(draw, learners)
    learner.observeRequest('valuation.score', requestOf({ body: message.request }))
    learner.observeResponse('valuation.score', { status: 200, ...requestOf({ body: message.response }) })
    return message
  })
  const draft = renderDraft(mergeLearned(learners.map(({ report }) => report)))
  const compiled = compileOperation(operationOf(draft, '/valuation/score', 'post'))
  const accepts = (message: Message): boolean =>
    compiled.acceptsRequest(message.request) && compiled.acceptsResponse(message.response)
  const mutants = messages.map((message) =>
    pick(draw, [
      ...listMutants(draw, request, message.request).map((mutant) => () => ({ ...message, request: mutant() })),
      ...listMutants(draw, response, message.response).map((mutant) => () => ({ ...message, response: mutant() })),
    ])(),
  )
  return {
    draft,
    rejectedMessages: messages.filter((message) => !accepts(message)),
    mutants: mutants.length,
    acceptedMutants: mutants.filter(accepts),
  }
}
