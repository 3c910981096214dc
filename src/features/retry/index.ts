import type { Feature } from '../../core/feature.ts'

export const retry: Feature = {
  name: 'retry',
  loadAdminPart: () => import('./admin.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
  loadStatusPart: () => import('./status.ts'),
  loadCommands: async () => ({ loadStatusTexts: () => import('./status-text.ts') }),
  loadConfigPart: () => import('./config.ts'),
}
