import { byGroup, byOperation } from '../../../../operations.ts'
import type { Config, UpstreamConfig } from '../../../config/config.ts'
import { workerShare } from '../../../config/worker-count.ts'

/**
 * Divides the limits that hold for the whole gateway among its workers. What cannot be divided evenly is rounded up, so
 * that each worker has at least one of everything. The primary counts the connections of an address. Each worker
 * divides the limits of clients itself, since there may be thousands. The hash stays: it names what the file says.
 */
export const perWorkerConfig = (config: Config, workers: number): Config => {
  const divide = (limit: number): number => workerShare(limit, workers)
  const divideOptional = (limit: number | null): number | null => (limit === null ? null : divide(limit))
  const { listen, limits, cache, log, upstreams, operations } = config
  const divideUpstream = ({ candidate, ...upstream }: UpstreamConfig): UpstreamConfig => ({
    ...upstream,
    maxConnections: divide(upstream.maxConnections),
    maxPending: divide(upstream.maxPending),
    concurrency: divideOptional(upstream.concurrency),
    retry: upstream.retry && {
      ...upstream.retry,
      // A rate needs no rounding: of one retry a second, each of two workers has one every two seconds.
      budget: { ...upstream.retry.budget, floor: upstream.retry.budget.floor / workers },
    },
    candidate: candidate && {
      ...candidate,
      upstream: divideUpstream(candidate.upstream),
      shadow: candidate.shadow && {
        ...candidate.shadow,
        concurrency: divide(candidate.shadow.concurrency),
        maxBytes: divide(candidate.shadow.maxBytes),
      },
    },
  })
  return {
    ...config,
    listen: { ...listen, maxConnections: divideOptional(listen.maxConnections) },
    limits: { ...limits, concurrency: divideOptional(limits.concurrency) },
    cache: { ...cache, maxBytes: divide(cache.maxBytes) },
    log: { ...log, buffer: divide(log.buffer) },
    upstreams: byGroup((group) => divideUpstream(upstreams[group])),
    operations: byOperation(({ id }) => ({
      ...operations[id],
      concurrency: divideOptional(operations[id].concurrency),
    })),
  }
}
