import type { Feature } from '../../core/feature.ts'

export const limits: Feature = {
  name: 'limits',
  needs: ['auth', 'redis'],
  facts: {
    ipv6Prefix: ({ limits }) => limits.address?.ipv6Prefix,
    redis: { section: 'limits', purpose: 'counts' },
  },
  loadAdminPart: () => import('./admin.ts'),
  loadRuntimePart: () => import('./runtime.ts'),
  loadStatusPart: () => import('./status.ts'),
  loadPrimaryPart: () => import('./primary.ts'),
  loadConfigPart: () => import('./config.ts'),
  loadCommands: async () => ({
    loadExplain: async () => ({
      settings: [
        {
          before: 'requestId',
          // `limits.address.rate` is among the layers.
          rows: ({ limits: { address } }, rowsUnder) =>
            address === null ? [] : rowsUnder('limits.address.ipv6Prefix', 'limits.redis'),
        },
      ],
    }),
  }),
}
