import { byGroup } from '../../../../operations.ts'
import type { Config } from '../../../config/config.ts'
import { divideConnections, workerShare } from '../../../config/worker-count.ts'
import { primaryFeatures } from '../../primary-parts.ts'

/**
 * Divides the limits that hold for the whole gateway among its workers. What cannot be divided evenly is rounded up, so
 * that each worker has at least one of everything. The primary counts the connections of an address. The hash stays: it
 * names what the file says.
 */
export const perWorkerConfig = (config: Config, workers: number): Config => {
  const { listen, log, upstreams } = config
  const { maxConnections } = listen
  const divided = {
    ...config,
    listen: { ...listen, maxConnections: maxConnections === null ? null : workerShare(maxConnections, workers) },
    log: { ...log, buffer: workerShare(log.buffer, workers) },
    upstreams: byGroup((group) => divideConnections(upstreams[group], workers)),
  }
  return [...primaryFeatures.values()].reduce<Config>((next, { divide }) => divide?.(next, workers) ?? next, divided)
}
