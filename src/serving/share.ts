import { byGroup, byOperation } from '../catalog.ts'
import type { Config, UpstreamConfig } from '../config/config.ts'

/**
 * Divides the bounds that hold for the whole gateway among its workers. What cannot be divided evenly is rounded up, so that each has one
 * of everything; connections of an address are counted by the primary alone. Bounds of clients, of whom there may be thousands, each worker divides
 * itself. The hash stays: it names what the file says.
 */
export const shareOf = (config: Config, workers: number): Config => {
  const part = (bound: number): number => Math.ceil(bound / workers)
  const partOf = (bound: number | null): number | null => (bound === null ? null : part(bound))
  const { listen, limits, cache, log, upstreams, operations } = config
  const ofUpstream = (upstream: UpstreamConfig): UpstreamConfig => ({
    ...upstream,
    maxConnections: part(upstream.maxConnections),
    maxPending: part(upstream.maxPending),
    concurrency: partOf(upstream.concurrency),
    retry: upstream.retry && {
      ...upstream.retry,
      // A rate needs no rounding: of one retry a second, each of two workers has one every two seconds.
      budget: { ...upstream.retry.budget, floor: upstream.retry.budget.floor / workers },
    },
  })
  return {
    ...config,
    listen: { ...listen, maxConnections: partOf(listen.maxConnections), maxConnectionsPerAddress: null },
    limits: { ...limits, concurrency: partOf(limits.concurrency) },
    cache: { ...cache, maxBytes: part(cache.maxBytes) },
    log: { ...log, buffer: part(log.buffer) },
    upstreams: byGroup((group) => ofUpstream(upstreams[group])),
    operations: byOperation(({ id }) => ({ ...operations[id], concurrency: partOf(operations[id].concurrency) })),
  }
}
