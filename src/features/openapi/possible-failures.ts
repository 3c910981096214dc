import type { Config, UpstreamConfig } from '../../core/config/config.ts'
import { allFailureKinds, type FailureKind } from '../../core/exchange/failures/kinds.ts'
import { listSides } from '../../core/exchange/sides.ts'
import type { Operation } from '../../operations.ts'
import type { ClientConfig } from '../auth/clients/config.ts'
import { enforcesContract } from '../contract/check/enforces-contract.ts'

/** Lists the kinds of failure that a client of an operation may be told of, in the order of the table of kinds. */
export const possibleFailures = (operation: Operation, config: Config): readonly FailureKind[] =>
  allFailureKinds.filter((kind) => conditions[kind](operation, config))

type Condition = (operation: Operation, config: Config) => boolean

const always: Condition = () => true
const never: Condition = () => false

const hasIdempotency: Condition = ({ id }, { operations }) => operations[id].idempotency !== null

/** Makes a condition on the upstream of a group, which holds when its candidate is such a one too. */
const ofAnySide =
  (isSuch: (upstream: UpstreamConfig) => boolean): Condition =>
  ({ group }, { upstreams }) =>
    listSides(upstreams[group]).some(({ upstream }) => isSuch(upstream))

// What an operator may bring about without an edit counts as possible: a kill switch, a drained endpoint, a share.
const conditions: Readonly<Record<FailureKind, Condition>> = {
  'bad-request': always,
  'invalid-request': (operation, config) => enforcesContract(config, operation.id, 'request'),
  'unsupported-media-type': (operation, config) => enforcesBody(operation, config),
  'invalid-response': (operation, config) => enforcesResponse(operation, config),
  // Over HTTP/2 each request needs a key.
  'idempotency-key-missing': ({ id }, { operations, listen }) =>
    operations[id].idempotency !== null && (operations[id].idempotency.required || listen.http2),
  'idempotency-key-invalid': hasIdempotency,
  'request-in-progress': hasIdempotency,
  'outcome-unknown': hasIdempotency,
  'response-not-kept': hasIdempotency,
  'idempotency-key-reused': hasIdempotency,
  'idempotency-unavailable': ({ id }, { operations }) => operations[id].idempotency?.onStoreFailure === 'refuse',
  // A target or a method that is none of the nine is not of any operation.
  'not-found': never,
  'method-not-allowed': never,
  'unsupported-coding': always,
  'unsupported-version': always,
  misdirected: (_, { listen }) => listen.hosts.length > 0,
  unauthenticated: ({ id }, { operations }) => operations[id].auth !== null,
  forbidden: ({ id }, { operations }) => operations[id].auth !== null,
  'content-too-large': (operation, config) => {
    const { maxBody, contract } = config.operations[operation.id]
    return maxBody !== null || (contract.unchecked === 'refuse' && enforcesBody(operation, config))
  },
  'header-too-large': always,
  'uri-too-long': always,
  'request-timeout': always,
  'expectation-failed': always,
  'rate-limited': (operation, config) =>
    hasIdempotency(operation, config) ||
    hasRate(operation, config) ||
    limitsClients(operation, config, ({ concurrency }) => concurrency !== null),
  overloaded: always, // the connections to an endpoint are limited in every configuration
  'refused-by-operator': always,
  'identity-unavailable': ({ id }, { operations, auth }) => asksForIdentity(operations[id].auth?.methods ?? [], auth),
  'audit-unavailable': (_, { audit }) => audit?.onFailure === 'refuse',
  loop: always,
  'no-healthy-endpoint': always,
  'circuit-open': ofAnySide(({ circuitBreaker }) => circuitBreaker !== null),
  'connect-failed': always,
  'connect-timeout': ofAnySide(({ timeouts }) => timeouts.connect !== null),
  'tls-failed': ofAnySide(({ endpoints }) => endpoints.some(({ origin }) => origin.startsWith('https:'))),
  'reset-before-headers': always,
  'headers-timeout': ofAnySide(({ timeouts }) => timeouts.headers !== null),
  'bad-answer': always,
  'deadline-exceeded': ({ id }, { operations }) => operations[id].deadline !== null,
  'not-cached': ({ id }, { operations }) => operations[id].cache !== null,
  // Where the gateway reads a response before it relays it; else the head is out by then.
  truncated: (operation, config) => hasIdempotency(operation, config) || enforcesResponse(operation, config),
  'client-gone': never, // in the log only
  internal: always,
}

/** Tells whether the request rate of an operation is limited, by address or by client. */
export const hasRate = (operation: Operation, config: Config): boolean =>
  config.limits.address !== null || limitsClients(operation, config, ({ rate }) => rate !== null)

const enforcesBody = ({ id }: Operation, config: Config): boolean =>
  enforcesContract(config, id, 'request') && config.compiledContract?.operations[id]?.request.body !== null

const enforcesResponse: Condition = ({ id }, config) =>
  enforcesContract(config, id, 'response') && config.compiledContract?.operations[id]?.responses.length !== 0

const limitsClients = (
  { id }: Operation,
  { operations, clients }: Config,
  isLimited: (client: ClientConfig) => boolean,
): boolean =>
  operations[id].auth !== null &&
  clients.some((client) => isLimited(client) && (client.operations === null || client.operations.includes(id)))

/** Tells whether a check of credentials depends on a server, or on the memory of proofs. */
const asksForIdentity = (methods: readonly string[], auth: Config['auth']): boolean =>
  methods.includes('introspection') ||
  (methods.includes('jwt') && (auth?.dpop != null || (auth?.jwt != null && 'url' in auth.jwt.jwks)))
