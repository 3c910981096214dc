import { availableParallelism } from 'node:os'
import type { Config, UpstreamConfig } from './config.ts'
import type { ConfigIssue, KeyPath } from './problem.ts'

/** `cores` are those of this machine by default. */
export const workerCount = ({ workers }: Pick<Config, 'workers'>, cores = availableParallelism()): number =>
  workers === 'auto' ? cores : workers

/** Returns what each worker has of a limit for the whole gateway: rounded up, so that each has at least one. */
export const workerShare = (limit: number, workers: number): number => Math.ceil(limit / workers)

/** Finds that a limit for the whole gateway cannot be divided among its workers. */
export const limitBelowWorkers = (
  workers: number,
  path: KeyPath,
  limit: number | null | undefined,
): ConfigIssue | false =>
  limit != null &&
  limit > 0 &&
  limit < workers && {
    path,
    message: `this is exceeded: each of ${workers} workers takes one at least`,
    expected: `${workers} or more`,
    found: String(limit),
    hint: `write ${workers} or more, or have fewer workers`,
  }

/** Divides the places of an upstream among workers. */
export const divideConnections = (upstream: UpstreamConfig, workers: number): UpstreamConfig => ({
  ...upstream,
  maxConnections: workerShare(upstream.maxConnections, workers),
  maxPending: workerShare(upstream.maxPending, workers),
})
