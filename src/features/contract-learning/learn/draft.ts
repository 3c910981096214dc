import { sum } from '../../../core/log/sum-reports.ts'
import { allOperations, type Operation } from '../../../operations.ts'
import type { MessageDirection } from '../../contract/drift-report.ts'
import { type DraftPart, draftSchema, enoughSightings, gaps, seen, splitByShare } from './draft-schema.ts'
import type { LearnedContent, LearnedContract, LearnedOperation, LearnedParameter } from './learned-contract.ts'
import { learnedInTable, tableSize } from './name-table.ts'

/**
 * Draws up an OpenAPI 3.1 document from what was learnt: those of the nine that were seen. `x-seen` says how often a
 * thing was seen, of how many times that it could have been, and `x-gap` what is still open. It is plain JSON.
 */
export const renderDraft = (learned: LearnedContract): DraftPart => {
  const seenOperations = allOperations.flatMap((operation) => {
    const known = learned.operations.get(operation.id)
    return known === undefined ? [] : [{ ...operation, learned: known }]
  })
  const unseen = allOperations.filter(({ id }) => !learned.operations.has(id)).map(({ id }) => id)
  return {
    openapi: '3.1.0',
    info: { title: 'Lender integration service', version: 'draft', description: 'Drawn up from traffic.' },
    ...gaps([unseen.length > 0 && `never seen: ${unseen.join(', ')}`]),
    paths: Object.fromEntries(
      seenOperations.map((operation) => [
        operation.path,
        { [operation.method.toLowerCase()]: draftOperation(operation, operation.learned) },
      ]),
    ),
  }
}

const draftOperation = (operation: Operation, { request, responses }: LearnedOperation): DraftPart => {
  const { content, dataNames } = request
  const parameters = splitByShare(request.parameters, content.count)
  const fields = splitByShare(request.fields, content.count)
  const rare = parameters.rare.length + fields.rare.length
  const leftOut = request.parameters.leftOut + request.fields.leftOut
  const all = [
    ...parameters.told.map((each) => ({ in: 'query', ...each, value: valueSchema(each.learned) })),
    ...fields.told.map((each) => ({ in: 'header', ...each, value: { type: 'string' } })),
  ]
  const hasBody = content.count > content.empty
  const hasResponse = tableSize(responses) > 0
  return {
    operationId: operation.id,
    tags: [operation.group],
    ...seen(content.count, content.count),
    ...gaps([
      content.count === 0 && 'no request seen',
      !hasBody && operation.method === 'POST' && 'no request body seen',
      !hasResponse && 'no response seen',
      rare > 0 && `parameters or header fields seen too rarely to be told: ${rare}`,
      dataNames > 0 && `parameters or header fields with names that look like data: ${dataNames} times`,
      leftOut > 0 && `parameters or header fields beyond the bounds of learning: ${leftOut} times`,
    ]),
    ...(all.length > 0 && {
      parameters: all.map(({ learned, value, ...parameter }) => ({
        ...parameter,
        schema: learned.repeated > 0 ? { type: 'array', items: value } : value,
        required: isAlways(learned.count, content.count),
        ...seen(learned.count, content.count),
      })),
    }),
    ...(hasBody && {
      requestBody: {
        required: isAlways(content.count - content.empty, content.count),
        ...draftContent(content, 'request'),
        ...seen(content.count - content.empty, content.count),
      },
    }),
    responses: draftResponses(responses),
  }
}

const isAlways = (count: number, of: number): boolean => of >= enoughSightings && count === of

/** Writes the schema of a query parameter's values, which are text: a type other than string says how they read. */
const valueSchema = ({ values, booleans, integers, numbers }: LearnedParameter): DraftPart => {
  if (isAlways(booleans, values.count)) return { type: 'boolean' }
  if (isAlways(integers, values.count)) return { type: 'integer' }
  if (isAlways(numbers, values.count)) return { type: 'number' }
  return draftSchema(values)
}

const draftResponses = (responses: LearnedOperation['responses']): DraftPart => {
  const all = sum(learnedInTable(responses).map(({ count }) => count)) + responses.leftOut
  const sorted = [...responses.named].sort(([a], [b]) => Number(a) - Number(b))
  // RFC 9110 §15 ends at 599, and so does OpenAPI; an upstream may send any three digits.
  const statuses = sorted.filter(([status]) => Number(status) < 600)
  const beyond = sum(sorted.map(([status, { learned }]) => (Number(status) < 600 ? 0 : learned.count)))
  return {
    ...Object.fromEntries(
      statuses.map(([status, { learned }]) => [
        status,
        { description: `Status ${status}`, ...draftContent(learned, 'response'), ...seen(learned.count, all) },
      ]),
    ),
    // A status that did not come while the gateway learnt, such as 503, is no breach of the contract.
    default: {
      description: 'Any other status',
      ...gaps([beyond > 0 && `statuses above 599: ${beyond} times`, 'statuses that were not seen']),
    },
  }
}

const draftContent = (
  { count, empty, untyped, mediaTypes }: LearnedContent,
  direction: MessageDirection,
): DraftPart => {
  const types = [...mediaTypes.named].sort(([a], [b]) => (a < b ? -1 : 1))
  const other = count - empty - sum(types.map(([, { learned }]) => learned.count))
  const content = types.map(([type, { learned }]) => {
    const unread = learned.count - learned.body.count
    return [
      type,
      {
        ...(learned.body.count > 0 && { schema: draftSchema(learned.body) }),
        ...seen(learned.count, count),
        ...gaps([unread > 0 && `${unread} bodies were not read as JSON`]),
      },
    ]
  })
  const unnamed = other === 0 ? [] : [['*/*', { ...seen(other, count), ...gaps(['content types not told apart']) }]]
  const all = [...content, ...unnamed]
  return {
    ...(all.length > 0 && { content: Object.fromEntries(all) }),
    ...gaps([
      untyped > 0 && `without a content type, or with one that looks like data: ${untyped}`,
      // OpenAPI has no word for a response that may have a body.
      direction === 'response' && empty > 0 && all.length > 0 && `without a body, which content rules out: ${empty}`,
    ]),
  }
}
