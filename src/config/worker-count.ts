import { availableParallelism } from 'node:os'
import type { Config } from './config.ts'

/** Tells how many processes serve clients on a machine with so many cores: this one, unless it is said. */
export const workerCount = ({ workers }: Pick<Config, 'workers'>, cores = availableParallelism()): number =>
  workers === 'auto' ? cores : workers
