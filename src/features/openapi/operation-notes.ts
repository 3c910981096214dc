import type { DescribedField, OpenApiPart, OperationNotes } from '../../core/admin/admin-part.ts'
import { adminParts } from '../../core/admin/admin-parts.ts'
import type { Config, UpstreamConfig } from '../../core/config/config.ts'
import {
  allFailureKinds,
  type FailureKind,
  failureTable,
  reasonPhrase,
} from '../../core/exchange/failures/failure-table.ts'
import { interactionIdField } from '../../core/exchange/header-fields.ts'
import { listSides } from '../../core/exchange/sides.ts'
import type { PlainObject } from '../../core/lib/plain-object.ts'
import { layerPlaces } from '../../core/runtime/pipeline/layer-stack.ts'
import type { Operation } from '../../operations.ts'

export const openApiParts: readonly OpenApiPart[] = await Promise.all(
  adminParts.flatMap(({ loadOpenApi }) => loadOpenApi?.() ?? []),
)

export const describeByFeatures = (operation: Operation, config: Config): readonly OperationNotes[] =>
  openApiParts.flatMap((part) => part.describe?.(operation, config) ?? [])

// Reported before any layer has seen the request.
const outermost: readonly FailureKind[] = [
  'unsupported-coding',
  'unsupported-version',
  'misdirected',
  'header-too-large',
  'uri-too-long',
  'expectation-failed',
  'loop',
]

/** `overloaded`: every configuration limits the connections to an endpoint. */
const always: readonly FailureKind[] = [
  ...outermost.filter((kind) => kind !== 'misdirected'),
  ...(['bad-request', 'request-timeout', 'overloaded', 'rejected-by-operator', 'no-healthy-endpoint'] as const),
  ...(['connect-failed', 'reset-before-headers', 'bad-response', 'internal'] as const),
]

/** Also what an operator can cause without an edit: a kill switch, a drained endpoint, a share. */
const conditions: Readonly<
  Partial<Record<FailureKind, (operation: Operation, config: Config, sides: readonly UpstreamConfig[]) => boolean>>
> = {
  misdirected: (_, { listen }) => listen.hosts.length > 0,
  'content-too-large': ({ id }, { operations }) => operations[id].maxBody !== null,
  'circuit-open': (_, __, sides) => sides.some(({ circuitBreaker }) => circuitBreaker !== null),
  'connect-timeout': (_, __, sides) => sides.some(({ timeouts }) => timeouts.connect !== null),
  'tls-failed': (_, __, sides) =>
    sides.some(({ endpoints }) => endpoints.some(({ origin }) => origin.startsWith('https:'))),
  'headers-timeout': (_, __, sides) => sides.some(({ timeouts }) => timeouts.headers !== null),
  'deadline-exceeded': ({ id }, { operations }) => operations[id].deadline !== null,
}

export const possibleFailures = (
  operation: Operation,
  config: Config,
  notes = describeByFeatures(operation, config),
): readonly FailureKind[] => {
  const known = [...always, ...notes.flatMap(({ failures = [] }) => failures)]
  const sides = listSides(config.upstreams[operation.group]).map(({ upstream }) => upstream)
  return allFailureKinds.filter((kind) => known.includes(kind) || conditions[kind]?.(operation, config, sides) === true)
}

export type ResponseField = Omit<DescribedField, 'layer'>

const text = { type: 'string' }

const fieldOf = (field: string, component: string, description: string, schema: PlainObject = text): ResponseField => ({
  field,
  component,
  header: { description, schema },
})

const interactionId = fieldOf(
  interactionIdField,
  'InteractionId',
  "The client's own id of the interaction, when the request has a valid one and the upstream's response has none.",
)
const via = fieldOf('Via', 'Via', 'The hops of the response (RFC 9110 §7.6.3), the gateway as the last one.')
const seconds = { type: 'integer', minimum: 0 }
const retryAfter = fieldOf('Retry-After', 'RetryAfter', 'The seconds to wait for (RFC 9110 §10.2.3).', seconds)

export const relayedFields = ({ group }: Operation, config: Config, notes: readonly OperationNotes[]) => {
  const names = listSides(config.upstreams[group]).flatMap(({ upstream: { response } }) =>
    response.set.map(({ name }) => [name.toLowerCase(), name] as const),
  )
  const set = [...new Map(names).values()].map((name) => fieldOf(name, `Set.${name}`, 'A field that the gateway sets.'))
  const added = notes.flatMap(({ fields = [], relayedFields = [] }) => [...fields, ...relayedFields])
  return [...baseFields(config), via, ...byLayer(added), ...set]
}

const problemFields = (kinds: readonly FailureKind[], config: Config, notes: readonly OperationNotes[]) => {
  const isOutermost = kinds.every((kind) => outermost.includes(kind))
  const maySayWhen = kinds.some(
    (kind) => kind === 'request-in-progress' || [429, 503].includes(failureTable[kind].status),
  )
  return [
    ...baseFields(config),
    ...(isOutermost ? [] : byLayer(notes.flatMap(({ fields = [] }) => fields))),
    ...(maySayWhen ? [retryAfter] : []),
    ...byLayer(notes.flatMap((each) => each.problemFields?.(kinds) ?? [])),
  ]
}

const byLayer = (fields: readonly DescribedField[]): readonly DescribedField[] =>
  layerPlaces.flatMap((place) => fields.filter(({ layer }) => layer === place))

const isInteractionId = (header: string | null): boolean => header?.toLowerCase() === interactionIdField

const baseFields = ({ requestId: { header } }: Config): readonly ResponseField[] => {
  if (header === null) return [interactionId]
  const described = { description: 'The id of the request, as in the log.', required: true, schema: text }
  const requestId = { field: header, component: 'RequestId', header: described }
  return isInteractionId(header) ? [requestId] : [requestId, interactionId]
}

export const describeParameters = ({ requestId: { header } }: Config, notes: readonly OperationNotes[]) => {
  const parameter = (component: string, name: string, description: string) => ({
    component,
    value: { name, in: 'header', description, schema: text } as PlainObject,
  })
  const all = notes.flatMap(({ parameters = [] }) => parameters)
  if (!isInteractionId(header))
    all.unshift(parameter('InteractionId', interactionIdField, 'An id that the response repeats.'))
  if (header !== null)
    all.unshift(parameter('RequestId', header, "The client's own id of the request; a valid one is kept."))
  return all
}

export const problemResponses = (operation: Operation, config: Config, notes: readonly OperationNotes[]) => {
  const byStatus = Map.groupBy(possibleFailures(operation, config, notes), (kind) => failureTable[kind].status)
  return [...byStatus]
    .sort(([one], [other]) => one - other)
    .map(([status, kinds]) => ({ status, kinds, fields: problemFields(kinds, config, notes) }))
}

export const describeProblem = (status: number, kinds: readonly FailureKind[], problem: string) => {
  const lines = kinds.map((kind) => `- \`${kind}\`: ${failureTable[kind].text}`)
  const narrowed = {
    properties: { title: { const: reasonPhrase(status) }, status: { const: status }, code: { enum: kinds } },
  }
  return {
    description: [`${reasonPhrase(status)}, from the gateway:`, '', ...lines].join('\n'),
    content: { 'application/problem+json': { schema: { allOf: [{ $ref: problem }, narrowed] } } }, // RFC 9457 §3
  }
}

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
