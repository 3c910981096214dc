import type { Config } from '../../core/config/config.ts'
import type { Feature } from '../../core/feature.ts'

const isUsed = ({ operations }: Config): boolean => Object.values(operations).some(({ cache }) => cache !== null)

export const cache: Feature = {
  name: 'cache',
  needs: ['redis'],
  facts: {
    partitionFields: ({ cache }) => cache.credentials,
    isStored: ({ cache }) => cache !== null,
    redis: { section: 'cache', purpose: 'responses' },
  },
  loadAdminPart: () => import('./admin.ts'),
  loadConfigPart: async () => ({ ...(await import('./config.ts')), ...(await import('./warnings.ts')) }),
  loadOperatorCommands: () => import('./commands.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  isUsed: ({ config }) => isUsed(config),
  loadStatusPart: () => import('./status.ts'),
  loadCommands: async () => ({
    loadExplain: async () => ({
      wholeLayers: ['cache'],
      settings: [
        {
          after: 'requestId',
          rows: (config, rowsUnder) => (isUsed(config) ? rowsUnder('cache') : []),
        },
      ],
    }),
  }),
}
