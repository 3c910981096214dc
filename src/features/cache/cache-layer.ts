import type { Config } from '../../core/config/config.ts'
import type { Layer } from '../../core/exchange/exchange.ts'
import type { OperationId, Side } from '../../operations.ts'
import { cacheLayer } from './cache.ts'
import type { CacheLease } from './cache-registry.ts'

/** Creates the cache of an operation: one for each side of its group. Null: nothing is stored here. */
export const createCacheLayer = (
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
