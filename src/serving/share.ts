import type { Group } from '../catalog.ts'
import type { Config, UpstreamConfig } from '../config/config.ts'

/**
 * Divides the bounds that hold for the whole gateway among its workers. What cannot be divided evenly is rounded up, so that each has one
 * of everything. The hash stays: it names what the file says.
 */
export const shareOf = (config: Config, workers: number): Config => {
  const part = (bound: number): number => Math.ceil(bound / workers)
  const { listen, log, upstreams } = config
  const ofUpstream = (upstream: UpstreamConfig): UpstreamConfig => ({
    ...upstream,
    maxConnections: part(upstream.maxConnections),
    maxPending: part(upstream.maxPending),
    retry: upstream.retry && {
      ...upstream.retry,
      // A rate needs no rounding: of one retry a second, each of two workers has one every two seconds.
      budget: { ...upstream.retry.budget, floorPerSecond: upstream.retry.budget.floorPerSecond / workers },
    },
  })
  return {
    ...config,
    listen: { ...listen, maxConnections: listen.maxConnections === null ? null : part(listen.maxConnections) },
    log: { ...log, bufferBytes: part(log.bufferBytes) },
    upstreams: Object.fromEntries(
      Object.entries(upstreams).map(([group, upstream]) => [group, ofUpstream(upstream)]),
    ) as Record<Group, UpstreamConfig>,
  }
}
