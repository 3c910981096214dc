import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import type { Operation, OperationId, Side } from '../../operations.ts'
import { cacheLayer } from './cache.ts'
import { type CacheLease, CacheRegistry, type PurgeResult } from './cache-registry.ts'
import { cacheInvalidationLayer, type InvalidationTarget } from './invalidation.ts'
import { SharedCacheRegistry } from './redis/shared-cache-registry.ts'
import type { PurgeScope } from './store/cache-store.ts'

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly cache: SnapshotPart & { readonly lease: CacheLease }
  }
  interface DataPlaneCommands {
    readonly purge: { readonly params: PurgeScope; readonly result: PurgeResult }
  }
}

const layerRows = ({ id, method }: Operation, config: Config, lease: CacheLease): readonly LayerRow[] =>
  method === 'GET'
    ? [
        layerRow(
          'cache',
          `operations.${id}.cache`,
          config.operations[id].cache,
          () => 'on',
          (rules) => createCacheLayer(id, config, rules, lease),
        ),
      ]
    : [
        layerRow(
          'cache-invalidation',
          'cache',
          lease.isUsed || null,
          () => 'of what its answers name',
          () => cacheInvalidationLayer(config.listen, lease.invalidate),
        ),
      ]

const responseFields =
  ({ operations }: Config): NonNullable<SnapshotPart['responseFields']> =>
  ({ id }) =>
    operations[id].cache === null ? [] : [{ name: 'cache-status' }]

export const describe: RuntimePart['describe'] = (config) => {
  const lease = new CacheRegistry(() => {}).acquire(config)
  return { layers: (operation) => layerRows(operation, config, lease), responseFields: responseFields(config) }
}

export const open: RuntimePart['open'] = ({ place, channel, logEvent }) => {
  const isPrimary = place.role === 'primary'
  const caches = new CacheRegistry(
    logEvent,
    (targets) => channel.notify(targets),
    isPrimary ? null : new SharedCacheRegistry(logEvent),
  )
  return {
    receive(targets, from) {
      if (isPrimary) channel.notify(targets, { except: from })
      else void caches.invalidate(targets as readonly InvalidationTarget[])
    },
    acquire({ config }, _, { otherSide }) {
      const lease = caches.acquire(config, otherSide)
      return {
        lease,
        layers: (operation) => layerRows(operation, config, lease),
        responseFields: responseFields(config),
        commands: { purge: { run: (scope: PurgeScope) => caches.purge(scope) } },
        activate: lease.activate,
        release: lease.release,
      }
    },
  }
}

/** A cache for each side of the operation's group. */
const createCacheLayer = (
  id: OperationId,
  config: Config,
  rules: NonNullable<Config['operations'][OperationId]['cache']>,
  caches: CacheLease,
): Layer | null => {
  const { credentials } = config.cache
  const ofSide = (side: Side): Layer | null => {
    const partition = caches.get(id, side)
    return partition && cacheLayer({ ...rules, credentials }, partition, caches.events, caches.getSharedTier(id, side))
  }
  const [primary, candidate] = [ofSide('primary'), ofSide('candidate')]
  return primary === null || candidate === null ? primary : bySide(primary, candidate)
}

const bySide =
  (primary: Layer, candidate: Layer): Layer =>
  (next) => {
    const [ofPrimary, ofCandidate] = [primary(next), candidate(next)]
    return (exchange) => (exchange.side === 'candidate' ? ofCandidate(exchange) : ofPrimary(exchange))
  }
