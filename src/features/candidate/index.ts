import type { Feature } from '../../core/feature.ts'

/** Tries a second upstream beside the primary before a promotion. */
export const candidate: Feature = {
  name: 'candidate',
  needs: ['contract', 'redis'],
  facts: {
    dividesClients: ({ candidate }) =>
      candidate !== null && (candidate.share > 0 || candidate.steps !== null || candidate.clients.length > 0),
  },
  loadAdminPart: () => import('./admin.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  isUsed: ({ config: { upstreams } }) => Object.values(upstreams).some(({ candidate }) => candidate !== null),
  loadPrimaryPart: () => import('./primary.ts'),
  loadConfigPart: async () => ({
    ...(await import('./config/candidate.ts')),
    ...(await import('./rules.ts')),
    ...(await import('./warnings.ts')),
  }),
  loadCommands: async () => ({
    loadOperatorExtras: () => import('./cli/shift-extras.ts'),
    loadExplain: () => import('./explain.ts'),
    loadBundle: () => import('./bundle.ts'),
  }),
  loadOperatorCommands: () => import('./commands/shift.ts'),
  loadStatusPart: () => import('./status/candidate-status.ts'),
}
