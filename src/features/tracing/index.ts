import type { Feature } from '../../core/feature.ts'

export const tracing: Feature = {
  name: 'tracing',
  facts: { serviceName: ({ tracing }) => tracing?.serviceName },
  loadAdminPart: () => import('./admin.ts'),
  loadCommands: async () => ({ loadExplain: async () => ({ aside: ['tracing'] }) }),
  loadConfigPart: () => import('./config.ts'),
  loadStatusPart: () => import('./export-stats.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  isUsed: ({ config }) => config.tracing !== null,
}
