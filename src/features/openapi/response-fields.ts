import type { Config } from '../../core/config/config.ts'
import { type FailureKind, failureTable } from '../../core/exchange/failures/kinds.ts'
import { interactionIdField } from '../../core/exchange/header-fields.ts'
import { listSides } from '../../core/exchange/sides.ts'
import type { PlainObject } from '../../core/lib/plain-object.ts'
import { type Operation, sides } from '../../operations.ts'
import { hasRate } from './possible-failures.ts'

/** A response field that the gateway writes, as an object `Header` of OpenAPI, and its name there. */
export interface ResponseField {
  readonly field: string
  readonly component: string
  readonly header: PlainObject
}

const text = { type: 'string' }
const wholeSeconds = { type: 'integer', minimum: 0 }

const field = (name: string, component: string, description: string, schema: PlainObject = text): ResponseField => ({
  field: name,
  component,
  header: { description, schema },
})

const interactionId = field(
  interactionIdField,
  'InteractionId',
  "The client's own id of the interaction, when the request has a valid one and the upstream answers with none.",
)
const via = field('Via', 'Via', 'The hops of the response (RFC 9110 §7.6.3), the gateway as the last one.')
const serverTiming = field(
  'Server-Timing',
  'ServerTiming',
  'How long the head of the response took: in the gateway, and at the upstream.',
)
const rateLimitPolicy = field(
  'RateLimit-Policy',
  'RateLimitPolicy',
  'The limits that hold: quota and window (draft-ietf-httpapi-ratelimit-headers).',
)
const rateLimit = field(
  'RateLimit',
  'RateLimit',
  'What is left of them: requests, and the seconds until there is one more (draft-ietf-httpapi-ratelimit-headers).',
)
const cacheStatus = field('Cache-Status', 'CacheStatus', 'What the cache of the gateway did (RFC 9211).')
const age = field('Age', 'Age', 'The age of a stored response, in seconds (RFC 9111 §5.1).', wholeSeconds)
const retryAfter = field('Retry-After', 'RetryAfter', 'The seconds to wait for (RFC 9110 §10.2.3).', wholeSeconds)
const replayed = field(
  'Idempotency-Replayed',
  'IdempotencyReplayed',
  'true: the response to an earlier request with the same key, which was not sent again.',
)
const challenge = field('WWW-Authenticate', 'WWWAuthenticate', 'What is to be proved, and how (RFC 9110 §11.6.1).')

const requestIdField = ({ requestId: { header } }: Config): ResponseField | null =>
  header === null
    ? null
    : {
        field: header,
        component: 'RequestId',
        header: { description: 'The id of the request, as in the log.', required: true, schema: text },
      }

export const relayedFields = (operation: Operation, config: Config): readonly ResponseField[] => {
  const { cache, idempotency } = config.operations[operation.id]
  const names = listSides(config.upstreams[operation.group]).flatMap(({ upstream: { response } }) =>
    response.set.map(({ name }) => name),
  )
  const set = [...new Map(names.map((name) => [name.toLowerCase(), name])).values()].map((name) =>
    field(name, `Set.${name}`, 'A field that the gateway sets.'),
  )
  return [
    ...baseFields(config),
    via,
    ...layerFields(operation, config),
    ...(cache === null ? [] : [age, cacheStatus]),
    ...(idempotency === null ? [] : [replayed]),
    ...set,
  ]
}

// They are told before any layer has seen the request.
const outermost: readonly FailureKind[] = [
  'unsupported-coding',
  'unsupported-version',
  'misdirected',
  'header-too-large',
  'uri-too-long',
  'expectation-failed',
  'loop',
]

export const problemFields = (
  kinds: readonly FailureKind[],
  operation: Operation,
  config: Config,
): readonly ResponseField[] => {
  const { auth, cache } = config.operations[operation.id]
  const has = (...some: readonly FailureKind[]): boolean => some.some((kind) => kinds.includes(kind))
  const isInsideCache = has('not-cached') || kinds.some((kind) => failureTable[kind].fault === 'upstream')
  return [
    ...baseFields(config),
    ...(kinds.every((kind) => outermost.includes(kind)) ? [] : layerFields(operation, config)),
    ...(has('request-in-progress') || kinds.some((kind) => [429, 503].includes(failureTable[kind].status))
      ? [retryAfter]
      : []),
    ...(has('unauthenticated') || (has('forbidden') && auth !== null && auth.scopes.length > 0) ? [challenge] : []),
    ...(cache !== null && isInsideCache ? [cacheStatus] : []),
  ]
}

/** Tells whether `requestId.header` is the field of the interaction id: every response then has one. */
export const isInteractionId = (header: string | null): boolean => header?.toLowerCase() === interactionId.field

const baseFields = (config: Config): readonly ResponseField[] => {
  const requestId = requestIdField(config)
  if (requestId === null) return [interactionId]
  return isInteractionId(requestId.field) ? [requestId] : [requestId, interactionId]
}

const layerFields = (operation: Operation, config: Config): readonly ResponseField[] => [
  ...(config.tracing?.serverTiming ? [serverTiming] : []),
  ...(hasRate(operation, config) ? [rateLimitPolicy, rateLimit] : []),
  ...sideFields(operation, config),
]

/** Lists the field that names the side, where the file asks for one. It is left out while the group has no sides. */
const sideFields = ({ group }: Operation, { upstreams }: Config): readonly ResponseField[] => {
  const expose = upstreams[group].candidate?.expose ?? null
  return expose === null ? [] : [field(expose, 'Side', 'Which upstream has served the request.', { enum: sides })]
}
