import type { Config } from '../../core/config/config.ts'
import type { Violation } from '../../core/exchange/failures/errors.ts'
import { allFailureKinds, type FailureKind, failureTable, reasonPhrase } from '../../core/exchange/failures/kinds.ts'
import type { PlainObject } from '../../core/lib/plain-object.ts'
import { allOperations, type Operation } from '../../operations.ts'
import { enforcesContract } from '../contract/check/enforces-contract.ts'
import { maxViolations } from '../contract/check/violations.ts'
import { possibleFailures } from './possible-failures.ts'
import { problemFields, type ResponseField } from './response-fields.ts'

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
  const hasViolations = allOperations.some(({ id }) => enforcesContract(config, id, 'request'))
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
      ...(hasViolations ? { errors: violationsSchema } : {}),
    },
  }
}

const violationSchemas: Readonly<Record<Exclude<keyof Violation, 'ownPointer'>, PlainObject>> = {
  pointer: { type: 'string', description: 'The place (RFC 6901), by the names of the request' },
  in: { type: 'string', description: 'The part of the request' },
  rule: { type: 'string', description: 'What does not hold: a keyword of JSON Schema, or a word of the gateway' },
  detail: { type: 'string', description: 'What was expected' },
}
const violationsSchema = {
  type: 'array',
  description: 'Where the request breaks the contract',
  maxItems: maxViolations,
  items: { type: 'object', required: Object.keys(violationSchemas), properties: violationSchemas },
}
