import type { Feature } from '../../core/feature.ts'

export const retry: Feature = {
  name: 'retry',
  facts: { repeats: ({ retry }, cause) => retry?.on.some((each) => each === cause) === true },
  loadAdminPart: () => import('./admin.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
  loadStatusPart: () => import('./status.ts'),
  loadConfigPart: () => import('./config.ts'),
}
