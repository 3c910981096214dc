import { renderDraft } from '../../../../src/features/contract-learning/learn/draft.ts'
import { mergeLearned } from '../../../../src/features/contract-learning/learn/learned-contract.ts'
import { createLearner, type LearnerOptions } from '../../../../src/features/contract-learning/learn/learner.ts'
import { compileOperation, operationOf } from './draft-checker.ts'
import { createDraw, type Draw, drawQuery, drawValue, type HiddenContract, listMutants, pick } from './hidden-schema.ts'

/** How tests learn, unless they say otherwise. */
export const learnerOptions: LearnerOptions = { enums: true, key: 'key of a test', credentialFields: [] }

/** One request with its response. */
interface Message {
  readonly query: ReadonlyMap<string, string>
  readonly request: unknown
  readonly response: unknown
}

/** Learns a contract from generated messages, and counts what the draft makes of them and of broken ones. */
export const learnHiddenContract = (
  contract: HiddenContract,
  { messages: count, seed, learners: learnerCount = 1 }: { messages: number; seed: number; learners?: number },
) => {
  const draw = createDraw(seed)
  const messages = Array.from({ length: count }, () => drawMessage(draw, contract))
  const learners = Array.from({ length: learnerCount }, () => createLearner(learnerOptions))
  for (const message of messages) observe(pick(draw, learners), message)
  const draft = renderDraft(mergeLearned(learners.map(({ report }) => report)))
  const compiled = compileOperation(operationOf(draft, '/valuation/score', 'post'))
  const accepts = ({ query, request, response }: Message): boolean =>
    compiled.acceptsQuery(query) && compiled.acceptsRequest(request) && compiled.acceptsResponse(response)
  const mutants = messages.map((message) => mutate(draw, contract, message))
  return {
    draft,
    rejectedMessages: messages.filter((message) => !accepts(message)),
    mutants: mutants.length,
    acceptedMutants: mutants.filter(accepts),
  }
}

const drawMessage = (draw: Draw, { request, response, parameters }: HiddenContract): Message => ({
  query: drawQuery(draw, parameters),
  request: drawValue(draw, request),
  response: drawValue(draw, response),
})

const observe = (learner: ReturnType<typeof createLearner>, { query, request, response }: Message): void => {
  const text = new URLSearchParams([...query]).toString()
  const contentType = 'application/json; charset=utf-8'
  learner.observeRequest('valuation.score', {
    query: text === '' ? '' : `?${text}`,
    fields: [],
    contentType,
    body: JSON.parse(JSON.stringify(request)),
  })
  learner.observeResponse('valuation.score', { status: 200, contentType, body: JSON.parse(JSON.stringify(response)) })
}

/** Breaks a message at one place. */
const mutate = (draw: Draw, { request, response, parameters }: HiddenContract, message: Message): Message =>
  pick(draw, [
    ...listMutants(draw, request, message.request).map((mutant) => () => ({ ...message, request: mutant() })),
    ...listMutants(draw, response, message.response).map((mutant) => () => ({ ...message, response: mutant() })),
    ...parameters.flatMap(({ name, type, required }) => [
      ...(required ? [() => ({ ...message, query: without(message.query, name) })] : []),
      ...(message.query.has(name) && type !== 'text'
        ? [() => ({ ...message, query: new Map([...message.query, [name, 'x y']]) })]
        : []),
    ]),
  ])()

const without = (query: ReadonlyMap<string, string>, name: string) =>
  new Map([...query].filter(([each]) => each !== name))
