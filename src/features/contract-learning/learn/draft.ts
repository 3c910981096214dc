import { sum } from '../../../core/log/sum-reports.ts'
import { allOperations, type Operation } from '../../../operations.ts'
import type { MessageDirection } from '../../contract/drift-report.ts'
import type { LearnedContent, LearnedContract, LearnedOperation, LearnedParameter } from './learned-contract.ts'
import { learnedInTable, type NameTable, tableSize } from './name-table.ts'
import {
  type ArrayFacts,
  mergeShapes,
  type NumberFacts,
  type ObjectFacts,
  type Shape,
  type StringFacts,
} from './shape.ts'
import { describeMagnitudes, formatKeyword } from './value-summaries.ts'

export const renderDraft = (learned: LearnedContract): DraftPart => {
  const paths = allOperations.flatMap((operation) => {
    const known = learned.operations.get(operation.id)
    return known ? [[operation.path, { [operation.method.toLowerCase()]: draftOperation(operation, known) }]] : []
  })
  const unseen = allOperations.filter(({ id }) => !learned.operations.has(id)).map(({ id }) => id)
  return {
    openapi: '3.1.0',
    info: { title: 'Lender integration service', version: 'draft', description: 'Drawn up from traffic.' },
    ...gaps([unseen.length > 0 && `never seen: ${unseen.join(', ')}`]),
    paths: Object.fromEntries(paths),
  }
}

const draftOperation = (operation: Operation, { request, responses }: LearnedOperation): DraftPart => {
  const { content, dataNames } = request
  const parameters = splitByShare(request.parameters, content.count)
  const fields = splitByShare(request.fields, content.count)
  const rare = parameters.rare.length + fields.rare.length
  const leftOut = request.parameters.leftOut + request.fields.leftOut
  const all = [
    ...parameters.frequent.map((each) => ({ in: 'query', ...each, value: valueSchema(each.learned) })),
    ...fields.frequent.map((each) => ({ in: 'header', ...each, value: { type: 'string' } })),
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
      rare > 0 && `parameters or header fields seen too rarely to be listed: ${rare}`,
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

/** A text in a query has another type than string if all values read so. */
const valueSchema = ({ values, booleans, integers, numbers }: LearnedParameter): DraftPart => {
  if (isAlways(booleans, values.count)) return { type: 'boolean' }
  if (isAlways(integers, values.count)) return { type: 'integer' }
  if (isAlways(numbers, values.count)) return { type: 'number' }
  return draftSchema(values)
}

const draftResponses = (responses: LearnedOperation['responses']): DraftPart => {
  const all = sum(learnedInTable(responses).map(({ count }) => count)) + responses.leftOut
  // RFC 9110 §15 and OpenAPI end at 599; an upstream may send any three digits.
  const isBeyond = (status: string): boolean => Number(status) >= 600
  const beyond = sum([...responses.named].map(([status, { learned }]) => (isBeyond(status) ? learned.count : 0)))
  const statuses = [...responses.named].flatMap(([status, { learned }]) => {
    const content = draftContent(learned, 'response')
    return isBeyond(status)
      ? []
      : [[status, { description: `Status ${status}`, ...content, ...seen(learned.count, all) }]]
  })
  return {
    ...Object.fromEntries(statuses), // numbers are in order
    // Statuses that did not come while the gateway learned, such as 503, do not break the contract.
    default: {
      description: 'Any other status',
      ...gaps([beyond > 0 && `statuses above 599: ${beyond} times`, 'statuses that were not seen']),
    },
  }
}

const draftContent = ({ count, empty, untyped, mediaTypes }: LearnedContent, direction: MessageDirection) => {
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
  const unnamed =
    other === 0
      ? []
      : [['*/*', { ...seen(other, count), ...gaps(['content types beyond the limit, counted together']) }]]
  const all = [...content, ...unnamed]
  return {
    ...(all.length > 0 && { content: Object.fromEntries(all) }),
    ...gaps([
      untyped > 0 && `without a content type, or with one that looks like data: ${untyped}`,
      // OpenAPI cannot say that a response may have a body.
      direction === 'response' && empty > 0 && all.length > 0 && `without a body, which content rules out: ${empty}`,
    ]),
  }
}

export type DraftPart = Readonly<Record<string, unknown>>

/** From then on, the draft says that a thing is always so. */
const enoughSightings = 10

const enoughForEnum = 50

const leastShare = 0.01

export const seen = (count: number, of: number): DraftPart => ({ 'x-seen': `${count} of ${of}` })

const gaps = (texts: readonly (string | false)[]): DraftPart => {
  const said = texts.filter((text) => text !== false)
  return said.length === 0 ? {} : { 'x-gap': said.join('; ') }
}

const splitByShare = <T extends { readonly count: number }>(table: NameTable<T>, of: number) => {
  const frequent = [...table.named]
    .map(([name, { learned }]) => ({ name, learned }))
    .filter(({ learned }) => learned.count >= of * leastShare)
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  const names = new Set(frequent.map(({ learned }) => learned))
  return { frequent, rare: learnedInTable(table).filter((learned) => !names.has(learned)) }
}

/** Accepts all learned values, and further members. Orders of magnitude are extensions, and bind nothing. */
const draftSchema = (shape: Shape): DraftPart => {
  const { count, nulls, booleans, strings, numbers, arrays, objects } = shape
  // No number in a schema is beyond a double.
  if (numbers !== null && numbers.infinite > 0) return gaps(['numbers beyond the range of a double'])
  const parts = [
    { seenTimes: strings?.count, schema: strings && stringSchema(strings) },
    { seenTimes: numbers?.count, schema: numbers && numberSchema(numbers) },
    { seenTimes: booleans, schema: booleans > 0 ? { type: 'boolean' } : null },
    { seenTimes: arrays?.count, schema: arrays && arraySchema(arrays) },
    { seenTimes: objects?.count, schema: objects && objectSchema(objects) },
  ].flatMap(({ seenTimes = 0, schema }) => (schema === null ? [] : [{ seenTimes, schema }]))

  const [only, ...more] = parts
  if (only === undefined) return nulls > 0 ? { type: 'null' } : gaps(['no value seen'])
  const { schema }: { readonly schema: DraftPart } = only
  if (more.length === 0 && nulls === 0) return schema
  if (more.length === 0) {
    const withNull = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {}
    return { ...schema, type: [schema.type, 'null'], ...withNull, 'x-null': `${nulls} of ${count}` }
  }
  const withNull = nulls > 0 ? [...parts, { seenTimes: nulls, schema: { type: 'null' } }] : parts
  return { anyOf: withNull.map(({ seenTimes, schema }) => ({ ...schema, ...seen(seenTimes, count) })) }
}

const stringSchema = (facts: StringFacts): DraftPart => {
  const format = facts.count >= enoughSightings ? formatKeyword(facts.formats) : null
  return { type: 'string', ...(enumKeyword(facts) ?? format), 'x-length': describeMagnitudes(facts.lengths, 0) }
}

// A single value is a constant: an enumeration would say too much.
const enumKeyword = ({ count, values }: StringFacts): DraftPart | null =>
  count >= enoughForEnum && values !== null && values.unnamed.size === 0 && values.named.size > 1
    ? { enum: [...values.named.keys()].sort() }
    : null

const numberSchema = ({ count, fractions, positive, negative }: NumberFacts): DraftPart => ({
  type: fractions === 0 && count >= enoughSightings ? 'integer' : 'number',
  'x-range': describeMagnitudes(positive, negative),
})

const arraySchema = ({ lengths, items, forgotten }: ArrayFacts): DraftPart => ({
  type: 'array',
  ...(items === null ? {} : { items: draftSchema(items) }),
  'x-items': describeMagnitudes(lengths, 0),
  ...gaps([forgotten && 'items beyond the bounds of learning']),
})

const objectSchema = ({ count, members, others, kind }: ObjectFacts): DraftPart => {
  const { frequent, rare } = splitByShare(members, count)
  const properties = frequent.map(({ name, learned }) => [
    name,
    { ...draftSchema(learned), ...seen(learned.count, count) },
  ])
  const required = frequent.filter(({ learned }) => count >= enoughSightings && learned.count === count)
  const hasRule = others !== null && others.count >= enoughSightings
  return {
    type: 'object',
    ...(frequent.length > 0 && { properties: Object.fromEntries(properties) }),
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
    // Rare names fall under the same rule, so their values count, too.
    ...(hasRule && { additionalProperties: draftSchema(mergeShapes([others, ...rare])) }),
    ...gaps([
      kind === 'forgotten' && 'members beyond the bounds of learning',
      rare.length > 0 && `names seen too rarely to be listed: ${rare.length}`,
      others !== null && !hasRule && 'names that look like data, seen too rarely for a rule',
    ]),
  }
}
