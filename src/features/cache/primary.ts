import { processShare } from '../../core/config/process-share.ts'
import type { PrimaryFeature } from '../../core/runtime/primary-part.ts'

export const divide: Required<PrimaryFeature>['divide'] = (config, processes) => ({
  ...config,
  cache: { ...config.cache, maxBytes: processShare(config.cache.maxBytes, processes) },
})
