import type { Config, UpstreamConfig } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { foldUnderscores } from '../../core/exchange/header-fields.ts'
import type { RequestOwner } from '../../core/exchange/request-owner.ts'
import { tryOrNull } from '../../core/lib/try.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart } from '../../core/runtime/runtime-part.ts'
import type { Operation, OperationId } from '../../operations.ts'
import type { OperationIdempotencyConfig } from './config.ts'
import { idempotencyLayer } from './idempotency.ts'
import { findKeyOwner, parseIdempotencyKey, toKeyDigest } from './idempotency-key.ts'
import { type IdempotencyLease, IdempotencyRegistry } from './idempotency-registry.ts'
import type {
  IdempotencyCall,
  IdempotencyReplies,
  IdempotencyStore,
  KeyDigest,
  RecordSummary,
} from './store/idempotency-store.ts'

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    /** Null: no operation has idempotency. */
    readonly idempotency: SnapshotPart & { readonly lease: IdempotencyLease | null }
  }
  interface DataPlaneCommands {
    /** Finds what is remembered of a key of idempotency. */
    readonly findKey: { readonly params: KeyReference; readonly result: RecordSummary | false | LookupFailure }
    /** Forgets a key of idempotency; false: nothing was remembered of it. `in-progress`: it was left alone. */
    readonly forgetKey: { readonly params: KeyReference; readonly result: IdempotencyReplies['forget'] | LookupFailure }
  }
}

const layerRows = (
  { id, method }: Operation,
  config: Config,
  idempotency: IdempotencyLease | null,
): readonly LayerRow[] => {
  const { idempotency: rules, deadline } = config.operations[id]
  return method === 'GET'
    ? []
    : [
        layerRow(
          'idempotency',
          `operations.${id}.idempotency`,
          rules,
          formatIdempotency,
          (each) => createIdempotencyLayer(config, idempotency, each, deadline),
          'false',
        ),
      ]
}

export const describe: RuntimePart['describe'] = (config) => {
  const lease = new IdempotencyRegistry({ kind: 'primary' }, () => {}).acquire(config)
  return { layers: (operation) => layerRows(operation, config, lease) }
}

export const open: RuntimePart['open'] = ({ place: { role }, channel, logEvent }) => {
  const registry = new IdempotencyRegistry(
    role === 'worker' ? { kind: role, askPrimary: (calls) => channel.ask(calls) } : { kind: role },
    logEvent,
  )
  return {
    answer: (calls) => registry.replyAll(calls as readonly IdempotencyCall[]),
    cut: () => registry.cutAbandoned(),
    acquire({ config }) {
      const lease = registry.acquire(config)
      return {
        lease,
        layers: (operation) => layerRows(operation, config, lease),
        repeatKeyField: ({ id }, { request }) => keyFieldOf(config.operations[id].idempotency, request),
        // What all processes together remember is asked for once: a second one would forget what came meanwhile.
        commands: {
          findKey: {
            runsOnce: true,
            run: (reference: KeyReference) =>
              askOfKey(lease, config, reference, (store, key) => store.call({ type: 'find', key })),
          },
          forgetKey: {
            runsOnce: true,
            run: (reference: KeyReference) =>
              askOfKey(lease, config, reference, (store, key) => store.call({ type: 'forget', key })),
          },
        },
        ...(lease && { settled: lease.settled }),
        activate: () => lease?.activate(),
        release: () => lease?.release(),
      }
    },
  }
}

/** Creates the layer that sees to it that a POST with a key happens once. Null: the process does not remember. */
const createIdempotencyLayer = (
  config: Config,
  idempotency: IdempotencyLease | null,
  rules: OperationIdempotencyConfig,
  deadline: number | null,
): Layer | null =>
  idempotency &&
  idempotencyLayer(rules, {
    ...idempotency,
    credentialFields: ['authorization', 'cookie', ...config.cache.credentials],
    maxKeysPerClient: config.idempotency.maxKeysPerClient,
    maxClaimMs: shorterThan(config.idempotency.redis?.timeout ?? 0, deadline),
  })

const shorterThan = (ms: number, other: number | null): number | null => (other !== null && other < ms ? other : null)

const formatIdempotency = ({ header, required, onUnknown }: OperationIdempotencyConfig): string =>
  `${header}, required: ${required}, onUnknown: ${onUnknown}`

/**
 * Returns the field of the key by which the upstream recognises a request; null: it recognises none. A key that is
 * removed or replaced on the way does not keep a request from being done twice.
 */
const keyFieldOf = (
  idempotency: OperationIdempotencyConfig | null,
  { set, remove }: UpstreamConfig['request'],
): string | null => {
  if (idempotency?.onUnknown !== 'forward') return null
  const { header } = idempotency
  const edited = [...remove, ...set.map(({ name }) => name)]
  return edited.some((name) => foldUnderscores(name) === header) ? null : header
}

/** A key as a client or its support names it. */
export interface KeyReference {
  readonly operation: OperationId
  /** As in the request: as a string of structured fields, or bare. */
  readonly key: string
  /** Whose it is: a client of the file, or an address where no client is asked who it is. */
  readonly owner: RequestOwner
}

/** Why a key cannot be looked up: no key looks like that, the operation has no idempotency, or the store is away. */
export type LookupFailure = 'malformed' | 'off' | 'unavailable'

/** Asks the store of a key, as its client names it. */
const askOfKey = async <Reply>(
  lease: IdempotencyLease | null,
  config: Config,
  { operation, key, owner }: KeyReference,
  ask: (store: IdempotencyStore, key: KeyDigest) => Promise<Reply | null>,
): Promise<Reply | LookupFailure> => {
  const policy = config.operations[operation].idempotency
  if (lease === null || policy === null) return 'off'
  const { header, maxKey } = policy
  // What is wrong with it is for the client of a request.
  const parsed = tryOrNull(() => parseIdempotencyKey([header, key], header, maxKey))
  if (parsed === null) return 'malformed'
  // An address is named as in a request that has no credentials.
  const named = 'client' in owner ? owner : findKeyOwner(null, [], owner.address, [])
  return (await ask(lease.store, toKeyDigest(named, operation, parsed))) ?? 'unavailable'
}
