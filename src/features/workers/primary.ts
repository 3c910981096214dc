import { availableParallelism } from 'node:os'
import type { Config } from '../../core/config/config.ts'
import type { PrimaryFeature, PrimaryPart } from '../../core/runtime/primary-part.ts'
import type { WorkerStatus } from './admin.ts'
import type { WorkerPool } from './worker-pool.ts'

declare module '../../core/runtime/primary-part.ts' {
  interface PrimaryParts {
    readonly workers: WorkersPart
  }
}

interface WorkersPart extends PrimaryPart {
  /** Empty: one process serves. */
  readonly states: readonly WorkerStatus[]
}

export const workerCount = ({ workers }: Pick<Config, 'workers'>, cores = availableParallelism()): number =>
  workers === 'auto' ? cores : workers

export const open: Required<PrimaryFeature>['open'] = ({ log }): WorkersPart => {
  let pool: WorkerPool | null = null
  return {
    get states() {
      return pool?.states() ?? []
    },
    async openServer(options) {
      const size = workerCount(options.initial.config)
      if (size === 1) return null
      const { startWorkerPool } = await import('./worker-pool.ts')
      pool = await startWorkerPool({ ...options, size, log })
      return pool
    },
  }
}
