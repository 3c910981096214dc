import { groups } from '../../operations.ts'
import type { Config } from '../config/config.ts'
import { processShare } from '../config/process-share.ts'
import { listSides } from '../exchange/sides.ts'
import { maxClientFiles, maxOpenFiles, otherFiles } from '../lib/file-descriptor.ts'
import type { Log } from '../log/log.ts'
import { primaryFeatures } from './primary-parts.ts'

/**
 * Returns how many descriptors a serving process may need. Without `listen.maxConnections`, clients get what is left.
 */
export const neededFiles = (config: Pick<Config, 'listen' | 'upstreams'>, processes: number): number => {
  const { listen, upstreams } = config
  const share = (limit: number): number => processShare(limit, processes)
  let needed = otherFiles + share(listen.maxConnections ?? 0)
  for (const group of groups) {
    for (const { upstream } of listSides(upstreams[group]))
      needed += upstream.endpoints.length * share(upstream.maxConnections)
  }
  for (const feature of primaryFeatures.values()) needed += feature.countFiles?.(config, share) ?? 0
  return needed
}

export const warnOfLowFileLimit = (log: Log, config: Config, processes: number): void => {
  const limit = maxOpenFiles()
  const needed = neededFiles(config, processes)
  if (needed <= limit) return
  log.warn({ limit, needed, clients: maxClientFiles(limit) }, 'too few file descriptors for the configuration')
}
