import { workerShare } from '../../core/config/worker-count.ts'
import type { Feature } from '../../core/feature.ts'

/** Stores responses, and serves them again (RFC 9111). */
export const cache: Feature = {
  name: 'cache',
  needs: ['redis'],
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadOperatorCommands: () => import('./commands.ts'),
  loadPrimaryPart: async () => ({
    divide: (config, workers) => ({
      ...config,
      cache: { ...config.cache, maxBytes: workerShare(config.cache.maxBytes, workers) },
    }),
  }),
  loadRuntimePart: () => import('./runtime.ts'),
  loadStatusPart: () => import('./status.ts'),
  loadCommands: async () => ({ loadStatusTexts: () => import('./status-text.ts') }),
}
