import type { Feature } from '../../core/feature.ts'

/** A chained log of every exchange and every operator command. */
export const audit: Feature = {
  name: 'audit',
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  isUsed: ({ config }) => config.audit !== null,
  loadCommands: () => import('./command.ts'),
}
