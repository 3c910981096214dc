import type { Feature } from '../../core/feature.ts'

/** Finds out which client calls: API keys, certificates, tokens. */
export const auth: Feature = {
  name: 'auth',
  needs: ['redis'],
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: async () => ({
    ...(await import('./config.ts')),
    ...(await import('./tokens/operator-jwt-config.ts')),
    ...(await import('./rules.ts')),
    ...(await import('./warnings.ts')),
  }),
  loadTransfer: () => import('./clients/serialize-clients.ts'),
  loadCommands: () => import('./command.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  loadStatusPart: () => import('./status.ts'),
}
