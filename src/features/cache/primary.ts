import { workerShare } from '../../core/config/worker-count.ts'
import type { PrimaryFeature } from '../../core/runtime/primary-part.ts'

export const divide: Required<PrimaryFeature>['divide'] = (config, workers) => ({
  ...config,
  cache: { ...config.cache, maxBytes: workerShare(config.cache.maxBytes, workers) },
})
