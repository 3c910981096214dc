import { availableParallelism } from 'node:os'
import type { Config } from './config.ts'

/** `cores` are those of this machine by default. */
export const workerCount = ({ workers }: Pick<Config, 'workers'>, cores = availableParallelism()): number =>
  workers === 'auto' ? cores : workers

/** Returns what each worker has of a limit for the whole gateway: rounded up, so that each has at least one. */
export const workerShare = (limit: number, workers: number): number => Math.ceil(limit / workers)
