import type { Config, UpstreamConfig } from '../../core/config/config.ts'
import { partitionFields } from '../../core/config/config-facts.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { foldUnderscores } from '../../core/exchange/header-fields.ts'
import type { RequestOwner } from '../../core/exchange/request-owner.ts'
import { tryOrNull } from '../../core/lib/try.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart } from '../../core/runtime/runtime-part.ts'
import type { Operation, OperationId } from '../../operations.ts'
import { sharingRole } from '../redis/batched-calls.ts'
import type { OperationIdempotencyConfig } from './config.ts'
import { idempotencyLayer } from './idempotency.ts'
import { findKeyOwner, parseIdempotencyKey, toKeyDigest } from './idempotency-key.ts'
import { createIdempotencyRegistry, type IdempotencyLease } from './idempotency-registry.ts'
import type { CallOf, IdempotencyCall, IdempotencyReplies, RecordSummary } from './store/idempotency-store.ts'

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly idempotency?: SnapshotPart & { readonly lease: IdempotencyLease | null }
  }
  interface DataPlaneCommands {
    readonly findKey: { readonly params: KeyReference; readonly result: RecordSummary | false | LookupFailure }
    /** False: no record. `in-progress`: not forgotten. */
    readonly forgetKey: { readonly params: KeyReference; readonly result: IdempotencyReplies['forget'] | LookupFailure }
  }
}

const layerRows = (
  { id, method }: Operation,
  config: Config,
  idempotency: IdempotencyLease | null,
): readonly LayerRow[] => {
  if (method === 'GET') return []
  const { idempotency: rules, deadline } = config.operations[id]
  const format = ({ header, required, onUnknown }: OperationIdempotencyConfig): string =>
    `${header}, required: ${required}, onUnknown: ${onUnknown}`
  const create = (each: OperationIdempotencyConfig) => createIdempotencyLayer(config, idempotency, each, deadline)
  return [layerRow('idempotency', `operations.${id}.idempotency`, rules, format, create, 'false')]
}

export const describe: RuntimePart['describe'] = (config) => {
  const lease = createIdempotencyRegistry({ kind: 'primary' }, () => {}).acquire(config)
  return { layers: (operation) => layerRows(operation, config, lease) }
}

export const open: RuntimePart['open'] = ({ place: { role }, channel, logEvent }) => {
  const registry = createIdempotencyRegistry(sharingRole(role, channel), logEvent)
  return {
    reply: (calls) => registry.replyAll(calls as readonly IdempotencyCall[]),
    cut: () => registry.cutAbandoned(),
    acquire({ config }) {
      const lease = registry.acquire(config)
      return {
        lease,
        layers: (operation) => layerRows(operation, config, lease),
        repeatKeyField: ({ id }, { request }) => keyFieldOf(config.operations[id].idempotency, request),
        // Runs once: all processes share a store, and a second `forget` would remove newer records.
        commands: {
          findKey: { runsOnce: true, run: (key: KeyReference) => askOfKey(lease, config, key, 'find') },
          forgetKey: { runsOnce: true, run: (key: KeyReference) => askOfKey(lease, config, key, 'forget') },
        },
        ...(lease && { settled: lease.settled }),
        activate: () => lease?.activate(),
        release: () => lease?.release(),
      }
    },
  }
}

const createIdempotencyLayer = (
  config: Config,
  idempotency: IdempotencyLease | null,
  rules: OperationIdempotencyConfig,
  deadline: number | null,
): Layer | null =>
  idempotency &&
  idempotencyLayer(rules, {
    ...idempotency,
    credentialFields: ['authorization', 'cookie', ...partitionFields(config)],
    maxKeysPerClient: config.idempotency.maxKeysPerClient,
    maxClaimMs: deadline !== null && deadline < (config.idempotency.redis?.timeout ?? 0) ? deadline : null,
  })

/** Upstreams recognize repetitions by this field. Null: `onUnknown: reject`, or an edit changes the key. */
const keyFieldOf = (
  idempotency: OperationIdempotencyConfig | null,
  { set, remove }: UpstreamConfig['request'],
): string | null => {
  if (idempotency?.onUnknown !== 'forward') return null
  const { header } = idempotency
  const edited = [...remove, ...set.map(({ name }) => name)]
  return edited.some((name) => foldUnderscores(name) === header) ? null : header
}

/** `key`: as in the request, quoted or bare. `owner`: an address without `auth`. */
export interface KeyReference {
  readonly operation: OperationId
  readonly key: string
  readonly owner: RequestOwner
}

/** `off`: no idempotency. `unavailable`: no reply from the store. */
export type LookupFailure = 'malformed' | 'off' | 'unavailable'

const askOfKey = async <Type extends 'find' | 'forget'>(
  lease: IdempotencyLease | null,
  config: Config,
  { operation, key, owner }: KeyReference,
  type: Type,
): Promise<IdempotencyReplies[Type] | LookupFailure> => {
  const policy = config.operations[operation].idempotency
  if (lease === null || policy === null) return 'off'
  const { header, maxKey } = policy
  // The cause is for a request's client only.
  const parsed = tryOrNull(() => parseIdempotencyKey([header, key], header, maxKey))
  if (parsed === null) return 'malformed'
  // As in a request without credentials.
  const named = 'client' in owner ? owner : findKeyOwner(null, [], owner.address, [])
  const call = { type, key: toKeyDigest(named, operation, parsed) } as CallOf<Type>
  return (await lease.store.call<Type>(call)) ?? 'unavailable'
}
