import type { Feature } from '../../core/feature.ts'

/** Finds out which client calls: API keys, certificates, tokens. */
export const auth: Feature = {
  name: 'auth',
  loadAdminPart: () => import('./admin.ts'),
  loadCommands: () => import('./command.ts'),
  loadStatusPart: () => import('./status.ts'),
}
