import type { Feature } from '../../core/feature.ts'

/** Records every exchange and every operator command in a chained log. */
export const audit: Feature = {
  name: 'audit',
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  loadCommands: () => import('./command.ts'),
}
