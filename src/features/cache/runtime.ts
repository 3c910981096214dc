import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import { type LayerRow, layerRow } from '../../core/runtime/pipeline/layer-stack.ts'
import type { RuntimePart, SnapshotPart } from '../../core/runtime/runtime-part.ts'
import type { Operation } from '../../operations.ts'
import { type CacheLease, createCacheRegistry, type PurgeResult } from './cache-registry.ts'
import { cacheInvalidationLayer, type InvalidationTarget } from './invalidation.ts'
import { createSharedCacheRegistry } from './redis/shared-cache-registry.ts'
import type { PurgeScope } from './store/cache-store.ts'

declare module '../../core/runtime/runtime-part.ts' {
  interface SnapshotParts {
    readonly cache?: SnapshotPart & { readonly lease: CacheLease }
  }
  interface DataPlaneCommands {
    readonly purge: { readonly params: PurgeScope; readonly result: PurgeResult }
  }
}

const layerRows = ({ id, method }: Operation, config: Config, lease: CacheLease): readonly LayerRow[] => {
  const { cache } = config.operations[id]
  const create = () => bySide(lease.layer(id, 'primary'), lease.layer(id, 'candidate'))
  if (method === 'GET') return [layerRow('cache', `operations.${id}.cache`, cache, () => 'on', create)]
  const format = (): string => 'of the URLs in Location and Content-Location'
  const invalidation = (): Layer => cacheInvalidationLayer(config.listen, lease.invalidate)
  return [layerRow('cache-invalidation', 'cache', lease.isUsed || null, format, invalidation)]
}

const responseFields =
  ({ operations }: Config): NonNullable<SnapshotPart['responseFields']> =>
  ({ id }) =>
    operations[id].cache === null ? [] : [{ name: 'cache-status' }]

export const describe: RuntimePart['describe'] = (config) => {
  const lease = createCacheRegistry(() => {}).acquire(config)
  return { layers: (operation) => layerRows(operation, config, lease), responseFields: responseFields(config) }
}

export const open: RuntimePart['open'] = ({ place, channel, logEvent }) => {
  const isPrimary = place.role === 'primary'
  const shared = isPrimary ? null : createSharedCacheRegistry(logEvent)
  const caches = createCacheRegistry(logEvent, (targets) => channel.notify(targets), shared)
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

/** `candidate` null: the group has none. */
const bySide = (primary: Layer | null, candidate: Layer | null): Layer | null => {
  if (primary === null || candidate === null) return primary
  return (next) => {
    const [ofPrimary, ofCandidate] = [primary(next), candidate(next)]
    return (exchange) => (exchange.side === 'candidate' ? ofCandidate(exchange) : ofPrimary(exchange))
  }
}
