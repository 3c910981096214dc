import type { Config } from '../../core/config/config.ts'
import { allFailureKinds, type FailureKind, failureTable, reasonPhrase } from '../../core/exchange/failures/kinds.ts'
import type { PlainObject } from '../../core/lib/plain-object.ts'
import type { Operation } from '../../operations.ts'
import { openApiParts, possibleFailures, problemFields, type ResponseField } from './operation-notes.ts'

interface ProblemResponse {
  readonly status: number
  readonly kinds: readonly FailureKind[]
  readonly fields: readonly ResponseField[]
}

/** Lists the errors of the gateway's own of an operation, by rising status. */
export const problemResponses = (operation: Operation, config: Config): readonly ProblemResponse[] => {
  const byStatus = Map.groupBy(possibleFailures(operation, config), (kind) => failureTable[kind].status)
  return [...byStatus]
    .sort(([one], [other]) => one - other)
    .map(([status, kinds]) => ({ status, kinds, fields: problemFields(kinds, operation, config) }))
}

/** `problem` is the reference to the schema of all of them. */
export const describeProblem = (
  { status, kinds }: Pick<ProblemResponse, 'status' | 'kinds'>,
  problem: string,
): { readonly description: string; readonly content: PlainObject } => {
  const lines = kinds.map((kind) => `- \`${kind}\`: ${failureTable[kind].text}`)
  const narrowed = {
    properties: { title: { const: reasonPhrase(status) }, status: { const: status }, code: { enum: kinds } },
  }
  return {
    description: [`${reasonPhrase(status)}, from the gateway:`, '', ...lines].join('\n'),
    content: { [problemType]: { schema: { allOf: [{ $ref: problem }, narrowed] } } },
  }
}

/** The media type of the gateway's own errors (RFC 9457 §3). */
const problemType = 'application/problem+json'

export const problemSchema = (config: Config): PlainObject => {
  const hasId = config.requestId.header !== null
  const ofFeatures: PlainObject = Object.assign({}, ...openApiParts.map((part) => part.problemMembers?.(config)))
  return {
    type: 'object',
    description: "An error of the gateway's own (RFC 9457): what happened, and never why.",
    required: ['type', 'title', 'status', 'code', ...(hasId ? ['requestId'] : [])],
    properties: {
      type: { const: 'about:blank' },
      title: { type: 'string', description: 'The phrase of the status' },
      status: { type: 'integer', minimum: 400, maximum: 599 },
      code: {
        type: 'string',
        description: 'What happened',
        enum: allFailureKinds.filter((kind) => kind !== 'client-gone'), // in the log only
      },
      ...(hasId ? { requestId: { type: 'string', description: 'The id to look for in the log' } } : {}),
      ...ofFeatures,
    },
  }
}
